// Posting and reading in a lab: sends that are safe to repeat over a restart, inboxes emptied into the books, and histories
// verified here rather than believed.

import { setTimeout as sleep } from "node:timers/promises";
import { membersOf, type MessageAddress } from "@social-harness/protocol/address/Address";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import type { PostId, SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as VerifiedChain from "@social-harness/protocol/history/VerifiedChain";
import type * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import { readConversation, searchConversations } from "../daemon/History.ts";
import { failed, Failure, ofDefect } from "../Failure.ts";
import type { LabAgent } from "./Lab.ts";
import type { Held, Tally } from "./Tally.ts";

/** `agent:` for one recipient, `group:` for more; a sender may leave itself out. */
export const addressOf = (recipients: ReadonlyArray<string>): string =>
  recipients.length === 1 ? `agent:${recipients[0]}` : `group:${recipients.join(",")}`;

const pollMs = 15;

const isAway = (error: unknown): boolean => error instanceof Failure && error.exitCode === 3;

/** One post under its own key, entered into the books when the endpoint has answered, across its restarts. */
export const send = async (
  tally: Tally,
  from: LabAgent,
  recipients: ReadonlyArray<string>,
  text: string,
  idempotencyKey: string,
): Promise<PostId> => {
  const input = { to: addressOf(recipients), text };
  for (;;) {
    const client = await from.client();
    try {
      const { postId } = await client.call("send_message", { input, idempotencyKey });
      if (postId === undefined)
        throw failed("no-post-id", `${from.name} sent a post and got no id for it`, ofDefect);
      tally.sent({ from: from.name, recipients, text, postId });
      return postId;
    } catch (error) {
      if (!isAway(error)) throw error;
      await sleep(pollMs);
    }
  }
};

/** Reads what waits at an endpoint, enters it into the books and acknowledges it. One caller at a time an agent. */
const takeIn = async (tally: Tally, agent: LabAgent): Promise<void> => {
  const client = await agent.client();
  let cursor: string | undefined;
  do {
    const page = await client.call("read_inbox", cursor === undefined ? {} : { cursor });
    for (const { deliveryToken, item } of page.items) {
      tally.received({ agent: agent.name, deliveryToken, item });
      await client.call("acknowledge_delivery", { deliveryToken });
      tally.acknowledged(agent.name, deliveryToken);
    }
    cursor = page.nextCursor;
  } while (cursor !== undefined);
};

/** Takes in at each agent until it has what `wanted` asks of it, across restarts. False when `msMax` was too short. */
export const takeInUntil = async (
  tally: Tally,
  agents: ReadonlyArray<LabAgent>,
  wanted: (agent: LabAgent) => boolean,
  msMax: number,
): Promise<boolean> => {
  const until = performance.now() + msMax;
  const one = async (agent: LabAgent): Promise<boolean> => {
    for (;;) {
      try {
        await takeIn(tally, agent);
      } catch (error) {
        if (!isAway(error)) throw error;
      }
      if (wanted(agent)) return true;
      if (performance.now() > until) return false;
      await sleep(pollMs);
    }
  };
  return (await Promise.all(agents.map(one))).every(Boolean);
};

/** Every conversation of an endpoint, each record verified here under the pinned key. Throws `RecordError`. */
export const heldBy = async (agent: LabAgent, registryKey: SigningKey): Promise<ReadonlyArray<Held>> => {
  const client = await agent.client();
  const trust: VerifyRecord.Trust = { verifier: Ed25519.verifier, registryKey };
  const held: Array<Held> = [];
  for (const address of await searchConversations(client)) {
    const records = await readConversation(client, address);
    const chain = VerifiedChain.begin(trust);
    const posts: Array<Held["posts"][number]> = [];
    for (const record of records) {
      const { authorAgentId, postIntent } = record.recordCore.action;
      const head = chain.take(record);
      const from = head.members.cardOf(authorAgentId)?.agentName ?? "";
      const text = postIntent.content.map((part) => (part.type === "text" ? part.text : "")).join("");
      posts.push({ from, postId: postIntent.postId, text });
    }
    const members = membersOf(address as MessageAddress, agent.name) ?? [];
    held.push({ agent: agent.name, members, recordHashes: records.map((one) => one.recordHash), posts });
  }
  return held;
};
