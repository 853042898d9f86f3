// A certified chain of n agents with real keys, and the tools to break it: cores rebuilt around a lie so that every hash
// recomputes, and certificates signed anew over them.

import { createAgents } from "@social-harness/testkit/simulation/Agents";
import {
  certifiedBy,
  genesisAnchorOf,
  intentOf,
  postIdOf,
  type Signatory,
} from "@social-harness/testkit/simulation/Certify";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Record from "@social-harness/protocol/history/Record";
import type { RecordError } from "@social-harness/protocol/history/RecordError";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import * as VerifiedChain from "@social-harness/protocol/history/VerifiedChain";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import { type AgentId, RouterInstanceId } from "@social-harness/protocol/identity/Identifier";

export interface Chain {
  readonly members: Membership.Members;
  readonly trust: VerifyRecord.Trust;
  readonly anchor: Record.GenesisAnchor;
  /** In membership order. */
  readonly signers: ReadonlyArray<Signatory>;
  /** An agent of the same Registry that is no member. */
  readonly stranger: Signatory;
  readonly records: ReadonlyArray<HistoryRecord>;
}

/** A chain of `length` records that every member signed, the authors taking turns. */
export const chainOf = (n: number, length = 4): Chain => {
  const { agents, registry, verifier } = createAgents(n + 1, `chain of ${n}`, true);
  const [outsider, ...insiders] = agents;
  if (outsider === undefined) throw new RangeError("no agents");
  const members = Membership.ofCards(insiders.map(({ card }) => card));
  const ground = { members, routerInstanceId: RouterInstanceId.fromBytes(Buffer.alloc(16, 9)) };
  const anchor = genesisAnchorOf(ground);
  const signers = members.ids.map((id): Signatory => {
    const signer = insiders.find(({ card }) => card.agentId === id)?.signer;
    if (signer === undefined) throw new Error("a member without a signer");
    return { id, signer };
  });
  const records: Array<HistoryRecord> = [];
  for (let height = 0; height < length; height++) {
    const author = members.ids[height % n] as AgentId;
    const intent = intentOf(ground, author, postIdOf(`post ${height}`), `Height ${height}, ünïcode 🎈.`);
    const previous = records.at(-1);
    const core =
      previous === undefined
        ? Record.genesisCore(members.membership, intent, anchor)
        : Record.postCore(intent, {
            height,
            previousRecordHash: previous.recordHash,
            anchorHash: previous.recordCore.anchorHash,
          });
    records.push(certifiedBy(signers, core, anchor));
  }
  return {
    members,
    trust: { verifier, registryKey: registry.publicKey },
    anchor,
    signers,
    stranger: { id: outsider.card.agentId, signer: outsider.signer },
    records,
  };
};

export const headAt = ({ members, records }: Chain, height: number): VerifyRecord.ChainHead | null => {
  const record = records[height];
  if (record === undefined) return null;
  const { round } = Reanchor.bodyOf(record.routerAnchor);
  return { members, height, round, recordHash: record.recordHash, anchorHash: record.recordCore.anchorHash };
};

/** Verifies a record as the one at `height`, with the chain's own records below it. */
export const verifyAt = (
  chain: Chain,
  height: number,
  record: HistoryRecord,
  trust = chain.trust,
): VerifyRecord.ChainHead =>
  VerifyRecord.verifyNext(
    trust,
    headAt(chain, height - 1),
    record,
    VerifiedChain.ancestryOf(chain.records.slice(0, height)),
  );

/** A POST core around the changes, every hash recomputed, so that only what it says can be wrong. */
export const recast = (
  { recordCore }: HistoryRecord,
  change: Partial<Omit<Record.PostAction, "kind" | "postIntent">>,
  intentChange: Partial<Record.PostIntent> = {},
): Record.PostCore => {
  if (Record.isGenesis(recordCore)) throw new TypeError("only a POST is recast");
  const action = { ...(recordCore.action as Record.PostAction), ...change };
  const postIntent = { ...action.postIntent, ...intentChange };
  const whole = { ...action, postIntent, postIntentHash: Record.postIntentHashOf(postIntent) };
  return {
    ...(recordCore as Record.PostCore),
    membershipHash: whole.membershipHash,
    anchorHash: whole.anchorHash,
    action: whole,
    actionHash: Record.actionHashOf(whole),
  };
};

export const reasonOf = (attempt: () => unknown): string => {
  try {
    attempt();
  } catch (error) {
    return (error as RecordError).reason;
  }
  return "accepted";
};

/** The sizes at which the thresholds differ in kind: all must sign, one may be faulty, many may. */
export const sizes = [2, 3, 4, 7, 10, 32];

const chains = new Map<number, Chain>();

/** The chain of `n` members, made once. */
export const chainFor = (n: number): Chain => {
  const chain = chains.get(n) ?? chainOf(n);
  chains.set(n, chain);
  return chain;
};

/** The first two exchanged. */
export const swapped = <T>(items: ReadonlyArray<T>): ReadonlyArray<T> => [
  items[1] as T,
  items[0] as T,
  ...items.slice(2),
];
