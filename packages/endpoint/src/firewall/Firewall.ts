// Stands between classification and inbox as long as the state folder holds a `firewall.json`: what it is then in, what
// becomes of a queue that an earlier one has left, and which tools the owner has. Without the file it costs a look at its
// place. Knows no rule. Implements ING-130, ING-137 to ING-140, ING-146, ING-220 and ING-245.

import type { ConversationId } from "@social-harness/protocol/identity/Identifier";
import type { Logger } from "@social-harness/router/Logger";
import type { Admit } from "../ingress/Classify.ts";
import * as Inbox from "../ingress/Inbox.ts";
import type { HoldTools } from "../operations/Holds.ts";
import { causeOf } from "../state/Log.ts";
import { isStoreFailure } from "../store/Database.ts";
import type { EngineOptions } from "./Engine.ts";
import * as Events from "./Events.ts";
import * as Queue from "./Queue.ts";
import type { Verdict } from "./Verdict.ts";
import * as Watch from "./Watch.ts";
import * as Workers from "./Workers.ts";

export interface FirewallOptions extends EngineOptions {
  /** Of `firewall.json`. */
  readonly path: string;
  readonly random: Inbox.Random;
  readonly logger: Logger;
  readonly onAdmitted: () => void;
  /** There are other hold tools than before. */
  readonly onHoldTools: () => void;
  readonly watch?: Pick<Watch.WatchOptions, "watchMs" | "settledMs" | "absentMs">;
}

/** How it stands with the file, for its owner. */
export interface Standing {
  readonly file: "absent" | "usable" | "unusable";
  /** Why it cannot be used, or what its checker needs and is not there; else null. */
  readonly explanation: string | null;
}

export const none: Standing = { file: "absent", explanation: null };

export interface Firewall {
  /** Inside the turn of its classification: puts an item into the inbox or the queue. */
  readonly admit: Admit;
  /** After every commit. */
  readonly committed: () => void;
  readonly standing: () => Standing;
  readonly holdTools: () => HoldTools;
  /** Judges from now on, and writes by the agent's turns. Resolves when the rules are in force. */
  readonly start: (writer: Workers.Writer) => Promise<void>;
  /** Ends the checks that are under way; call it before the turns are closed. */
  readonly close: () => Promise<void>;
}

/** `emptying`: there are no rules, and what was queued under some has yet to go. */
type Mode = "on" | "emptying" | "off";

const allow: Verdict = { verdict: "allow" };
const unreadable: Verdict = { verdict: "hold", reason: "rules-unreadable" };

const judgeAll = (verdict: Verdict): Workers.Judge => ({
  decide: async (entries) => entries.map(({ recordHash }) => (recordHash === null ? allow : verdict)),
  check: async () => verdict,
});

/** What one state of the file makes of the firewall. */
interface InForce {
  readonly judge: Workers.Judge;
  readonly holdTools: HoldTools;
  readonly standing: () => Standing;
}

/** Holds everything. */
const closed = (explanation: string): InForce => ({
  judge: judgeAll(unreadable),
  holdTools: "kept",
  standing: () => ({ file: "unusable", explanation }),
});

const open: InForce = { judge: judgeAll(allow), holdTools: "kept", standing: () => none };

export const create = (options: FirewallOptions): Firewall => {
  const { db, path, logger } = options;
  let content = Watch.read(path);
  const isThere = content.kind !== "absent";
  /** An earlier life had rules: that there are none now has to be as sure as it would have to be in that life. */
  const isMissed = !isThere && !Queue.isEmpty(db);
  let mode: Mode = isThere || isMissed ? "on" : "off";
  let inForce = isThere ? closed("it has not been read yet") : open;
  let writer: Workers.Writer | null = null;
  let workers: Workers.Workers | null = null;
  let applied: Promise<void> = Promise.resolve();
  let endWatch: (() => void) | null = null;
  let isClosing = false;

  /** Rows come and go in turns alone, so between two of them the answer is whole. */
  const isEmptied = (): boolean => {
    try {
      return Queue.isEmpty(db);
    } catch (error) {
      if (isStoreFailure(error)) return false;
      throw error;
    }
  };

  const begin = (by: Workers.Writer, next: InForce): void => {
    const hadOtherTools = next.holdTools !== inForce.holdTools;
    inForce = next;
    if (hadOtherTools) options.onHoldTools();
    workers = Workers.start({
      ...options,
      writer: by,
      judge: next.judge,
      onIdle: () => {
        if (mode === "emptying" && isEmptied()) mode = "off";
      },
    });
  };

  const refuse = (explanation: string): InForce => {
    logger("error", "firewall.json cannot be used: every message is held until it is mended", {
      explanation,
    });
    return closed(explanation);
  };

  /** The rules of a text, or those that hold everything, with one line on why. */
  const rulesOf = async (text: string): Promise<InForce> => {
    const { load, RulesProblem } = await import("./Engine.ts");
    try {
      const { judge, allowRelease, missing } = load(text, options);
      logger("info", Events.inForce);
      const explanation = missing();
      if (explanation !== null) {
        logger("warn", "the firewall's checker is not complete: what it fails to check is held", {
          explanation,
        });
      }
      return {
        judge,
        holdTools: allowRelease ? "releasable" : "kept",
        standing: () => ({ file: "usable", explanation: missing() }),
      };
    } catch (error) {
      if (!(error instanceof RulesProblem)) throw error;
      return refuse(error.message);
    }
  };

  const inForceOf = async (file: Exclude<Watch.Content, { kind: "absent" }>): Promise<InForce> => {
    if (file.kind === "unreadable") return refuse(file.explanation);
    try {
      return await rulesOf(file.text);
    } catch (error) {
      logger("error", "the firewall met a defect: every message is held", causeOf(error));
      return closed("the endpoint met a defect with it, and its log says which");
    }
  };

  /** Puts one state of the file in force, unless a newer one has come. */
  const apply = async (file: Watch.Content): Promise<void> => {
    await workers?.stop();
    workers = null;
    if (isClosing || file !== content || writer === null) return;
    if (file.kind === "absent") {
      mode = "emptying";
      begin(writer, open);
      return;
    }
    const next = await inForceOf(file);
    if (isClosing || file !== content) return;
    begin(writer, next);
  };

  /** One after the other. Where the store fails at it, nothing is judged and everything stays queued until the next change. */
  const applyNext = (file: Watch.Content): Promise<void> =>
    (applied = applied
      .then(() => apply(file))
      .catch((error: unknown) =>
        logger("error", "the firewall cannot begin: every message stays queued", causeOf(error)),
      ));

  const change = (file: Watch.Content): Promise<void> => {
    content = file;
    if (file.kind === "absent") {
      logger("info", Events.gone);
    } else {
      // From here on nothing passes, though its rules are yet to be read.
      mode = "on";
      logger("info", "firewall.json has changed");
    }
    return applyNext(file);
  };

  /** What this endpoint tells its own host is not judged, and passes nothing that its conversation has waiting. */
  const queues = (isJudged: boolean, conversationId: ConversationId): boolean =>
    mode !== "off" && ((mode === "on" && isJudged) || Queue.has(db, conversationId));

  return {
    admit: (at, admission, conversationId) => {
      if (!queues(admission.recordHash !== undefined, conversationId)) {
        Inbox.admit(at, admission);
        return true;
      }
      Queue.add(at, { ...admission, conversationId });
      workers?.note(conversationId);
      return false;
    },
    committed: () => workers?.committed(),
    standing: () => inForce.standing(),
    holdTools: () => inForce.holdTools,
    start: async (by) => {
      writer = by;
      const known = isMissed ? null : content;
      endWatch = Watch.start({
        path,
        content: known,
        onChange: (file) => void change(file),
        ...options.watch,
      });
      if (isThere) await applyNext(content);
    },
    close: async () => {
      isClosing = true;
      endWatch?.();
      await applied;
      await workers?.stop();
    },
  };
};
