// Stands between classification and inbox as long as the state folder holds a `firewall.json`: what it is then in, what
// becomes of a queue that an earlier one has left, and which tools the owner has. Without the file it costs a look at its
// place. Knows no rule. Implements ING-130, ING-137 to ING-140, ING-146 and ING-245.

import type { ConversationId } from "@social-harness/protocol/identity/Identifier";
import type { Logger } from "@social-harness/router/Logger";
import type { Admit } from "../ingress/Classify.ts";
import * as Inbox from "../ingress/Inbox.ts";
import type { HoldTools } from "../operations/Holds.ts";
import { causeOf } from "../state/Log.ts";
import { isStoreFailure } from "../store/Database.ts";
import type { Engine, EngineOptions } from "./Engine.ts";
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

/** Whether there are rules, and whether they can be used. */
export type Standing = "none" | "usable" | "unusable";

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

const closed: Engine = { judge: judgeAll(unreadable), allowRelease: false };

export const create = (options: FirewallOptions): Firewall => {
  const { db, path, logger } = options;
  let content = Watch.read(path);
  const isThere = content.kind !== "absent";
  /** An earlier life had rules: that there are none now has to be as sure as it would have to be in that life. */
  const isMissed = !isThere && !Queue.isEmpty(db);
  let mode: Mode = isThere || isMissed ? "on" : "off";
  let tools: HoldTools = isThere ? "kept" : "none";
  let standing: Standing = isThere ? "unusable" : "none";
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

  const begin = (by: Workers.Writer, judge: Workers.Judge): void => {
    workers = Workers.start({
      ...options,
      writer: by,
      judge,
      onIdle: () => {
        if (mode === "emptying" && isEmptied()) mode = "off";
      },
    });
  };

  const say = (explanation: string): void =>
    logger("error", "firewall.json cannot be used: every message is held until it is mended", {
      explanation,
    });

  /** The rules of a file, or those that hold everything, with one line on why. */
  const engineOf = async (file: Exclude<Watch.Content, { kind: "absent" }>): Promise<Engine> => {
    if (file.kind === "unreadable") {
      say(file.explanation);
      return closed;
    }
    const { load, RulesProblem } = await import("./Engine.ts");
    try {
      const engine = await load(file.text, options);
      logger("info", "the firewall's rules are in force");
      return engine;
    } catch (error) {
      if (!(error instanceof RulesProblem)) throw error;
      say(error.message);
      return closed;
    }
  };

  const safeEngineOf: typeof engineOf = async (file) => {
    try {
      return await engineOf(file);
    } catch (error) {
      logger("error", "the firewall met a defect: every message is held", causeOf(error));
      return closed;
    }
  };

  const show = (now: HoldTools): void => {
    if (now === tools) return;
    tools = now;
    options.onHoldTools();
  };

  /** Puts one state of the file in force, unless a newer one has come. */
  const apply = async (file: Watch.Content): Promise<void> => {
    await workers?.stop();
    workers = null;
    if (isClosing || file !== content || writer === null) return;
    if (file.kind === "absent") {
      mode = "emptying";
      standing = "none";
      show("none");
      begin(writer, judgeAll(allow));
      return;
    }
    const engine = await safeEngineOf(file);
    if (isClosing || file !== content) return;
    standing = engine === closed ? "unusable" : "usable";
    show(engine.allowRelease ? "releasable" : "kept");
    begin(writer, engine.judge);
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
      logger("info", "there is no firewall any more: what is queued is let through");
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
    standing: () => standing,
    holdTools: () => tools,
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
