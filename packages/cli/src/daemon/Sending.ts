// A post through a running daemon. What its failure leaves open is asked for once more, so that it names the agents and the
// conversation that it speaks of; a post that is pending is explained by what its own conversation waits for.
// Implements RUN-81 to RUN-83.

import * as Address from "@social-harness/protocol/address/Address";
import { Failure } from "../Failure.ts";
import { visible } from "../text/Visible.ts";
import type { DaemonClient } from "./DaemonClient.ts";
import * as Readiness from "./Readiness.ts";
import type { Served } from "./OwnerCall.ts";
import type { ResultOf } from "./ToolResults.ts";
import { namingUnknown } from "./UnknownNames.ts";

export interface Post {
  readonly to: string;
  readonly text: string;
  readonly key?: string;
}

export type Sent = ResultOf<"send_message">;

/** What a pending post waits for, as the daemon saw it, and in words. */
export interface Waits {
  readonly recovering: boolean;
  readonly withdrawing: boolean;
  readonly unsigned: ReadonlyArray<string> | null;
  readonly explanation: string;
}

/** The one address of the conversation that `to` names, where the daemon knows its own name. */
const addressOf = async (client: DaemonClient, to: string): Promise<string> => {
  const status = await client.call("status");
  if (status.kind !== "active") return to;
  const resolved = Address.resolveInput(to, status.agentCard.agentName);
  return typeof resolved === "string" ? to : resolved.address;
};

const refined = async (client: DaemonClient, to: string, failure: Failure): Promise<Failure> => {
  switch (failure.reason) {
    case "refused": {
      const next = to.startsWith("group:")
        ? "Its owner decides who may open a conversation: ask them in another way, or write to the others in a group without it."
        : "Its owner decides who may open a conversation: ask them in another way.";
      return failure.with({ next });
    }
    case "outcome-unknown": {
      const address = await addressOf(client, to);
      return failure.with({ next: failure.next.replace("<address>", address) });
    }
    default:
      return failure;
  }
};

export const sendPost = async (client: DaemonClient, { to, text, key }: Post): Promise<Sent> => {
  const input = { input: { to, text }, ...(key === undefined ? {} : { idempotencyKey: key }) };
  try {
    return await namingUnknown(client, to, () => client.call("send_message", input));
  } catch (error) {
    throw error instanceof Failure ? await refined(client, to, error) : error;
  }
};

const explain = (post: Readiness.PendingPost, health: Readiness.Health): string => {
  if (post.recovering) {
    const why = health.restored === null ? "" : `: ${health.restored.explanation}`;
    return `it is kept, and goes out when its conversation has recovered${why}.`;
  }
  if (post.withdrawing) return "it is being withdrawn.";
  if (!health.routerConnected) {
    const why = health.routerTrouble === null ? "" : ` (${health.routerTrouble.explanation})`;
    return `it goes out by itself when the Router is connected again${why}; do not send it again.`;
  }
  if (health.routerRefusing !== null)
    return `the Router takes nothing at the moment: ${health.routerRefusing.explanation}; do not send it again.`;
  const { unsigned } = post;
  const whom = unsigned === null || unsigned.length === 0 ? "" : `; not signed yet by ${unsigned.join(", ")}`;
  return `it goes out by itself when enough members can be reached${whom}; do not send it again.`;
};

const unexplained =
  "it goes out by itself when the network and enough members can be reached; do not send it again.";

/** The post is persisted whatever the daemon says of itself now; it may just be stopping, or have certified it. */
export const waitsOf = async (served: Served, { postId }: Sent): Promise<Waits> =>
  waitsIn(await Readiness.read(served).catch(() => null), postId);

export const waitsIn = (health: Readiness.Health | null, postId: Sent["postId"]): Waits => {
  const post = health?.pending.find((pending) => pending.postId === postId);
  if (health === null || post === undefined) {
    return { recovering: false, withdrawing: false, unsigned: null, explanation: unexplained };
  }
  const { recovering, withdrawing, unsigned } = post;
  return { recovering, withdrawing, unsigned, explanation: visible(explain(post, health)) };
};
