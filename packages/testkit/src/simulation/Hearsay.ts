// What a member keeps in another's name, that other said: votes, refusals, withdrawals, wishes and rounds beside its open
// records are an honest member's own signatures, whoever brought them. And what it is shown of itself it remembers, or it
// knows that its memory is lost. Asked of each turn about what the turn changed. The clauses are HIS-73, HIS-154 and HIS-160.

import type { OpenRecord, SignerMap, State } from "@social-harness/protocol/conversation/State";
import * as Record from "@social-harness/protocol/history/Record";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import type { AgentId } from "@social-harness/protocol/identity/Identifier";
import { readsOf } from "./Disk.ts";
import type { Committed } from "./FoldWorld.ts";
import type { Signatures } from "./Signatures.ts";
import { violate } from "./Violation.ts";

type Kept = Pick<OpenRecord, "action" | "durability" | "refusals" | "withdrawal">;
type Shown = Pick<OpenRecord, "recordHash" | "anchorHash">;
const nothingKept: Kept = { action: {}, durability: {}, refusals: {}, withdrawal: null };

/** Records that a turn changed, each with what was kept of it before. */
const changedIn = (before: State, after: State): ReadonlyArray<readonly [OpenRecord, Kept]> => {
  if (before.open === after.open) return [];
  const known = new Map(before.open.map((record) => [record.recordHash, record]));
  return after.open
    .filter((record) => known.get(record.recordHash) !== record)
    .map((record) => [record, known.get(record.recordHash) ?? nothingKept]);
};

const entriesOf = <T>(map: { readonly [signer: AgentId]: T }): ReadonlyArray<readonly [AgentId, T]> =>
  Object.entries(map).map(([signer, value]) => [signer as AgentId, value as T]);

const addedTo = (before: SignerMap, after: SignerMap): ReadonlyArray<readonly [AgentId, string]> =>
  before === after ? [] : entriesOf(after).filter(([signer]) => !(signer in before));

/** That nothing is kept in an honest member's name that it did not sign. */
export const askHearsay = (
  { member, before, after }: Committed,
  { made, wished, stated }: Signatures,
  isHonest: (id: AgentId) => boolean,
): void => {
  const ask = (signer: AgentId, isTrue: boolean, what: string): void => {
    if (isHonest(signer) && !isTrue) violate("hearsay", `${member.index} believes ${what} that nobody made`);
  };
  for (const [record, known] of changedIn(before.state, after.state)) {
    for (const [id, vote] of addedTo(known.action, record.action)) ask(id, made(id, vote), "a vote");
    for (const [id, vote] of addedTo(known.durability, record.durability)) ask(id, made(id, vote), "a vote");
    for (const [id, refusal] of entriesOf(record.refusals))
      if (!(id in known.refusals)) ask(id, made(id, refusal.signature), "a refusal");
    const { author, withdrawal } = record;
    if (withdrawal !== null && known.withdrawal === null)
      ask(author, made(author, withdrawal), "a withdrawal");
  }
  const { rounds } = after.state;
  if (rounds === before.state.rounds) return;
  for (const [id, round] of entriesOf(rounds.wishes)) ask(id, wished(id) >= round, "a wish");
  for (const [id, round] of entriesOf(rounds.stated)) ask(id, stated(id) >= round, "a statement");
};

/** Whether a turn brought a vote of its member's own that the state did not hold before. What was held was asked about then. */
const isNew = (
  { member: { id }, before: { state } }: Committed,
  kind: "action" | "durability",
  recordHash: OpenRecord["recordHash"],
): boolean => {
  const missing = state.behind?.missing ?? null;
  const held = [...state.open, ...(missing === null ? [] : [missing])];
  return !held.some((record) => record.recordHash === recordHash && id in record[kind]);
};

/** Whether a vote under an anchor may be one of those that a loss of memory took of which its member has recovered. */
const isOfRecovered = ({ state, anchors }: Committed["after"], anchorHash: Shown["anchorHash"]): boolean => {
  if (state.recovered === null) return false;
  const anchor = anchors.get(anchorHash);
  return anchor === undefined || Reanchor.bodyOf(anchor).round <= state.recovered.floor;
};

/**
 * That who is shown a vote of its own that its disk does not hold goes on as one that lost its memory, unless it has recovered
 * from the loss that took that vote.
 */
export const askMemory = (committed: Committed): void => {
  const { member, before, after } = committed;
  const { id, index } = member;
  if (before.state.restored !== null || after.state.restored !== null) return;
  const ask = (kind: "action" | "durability", { recordHash, anchorHash }: Shown): void => {
    if (isOfRecovered(after, anchorHash)) return;
    if (isNew(committed, kind, recordHash) && !readsOf(after).hasSigned(kind, recordHash, anchorHash))
      violate("memory", `${index} is shown what it has forgotten, and goes on`);
  };
  for (const [record] of changedIn(before.state, after.state)) {
    if (id in record.action) ask("action", record);
    if (id in record.durability) ask("durability", record);
  }
  for (const { recordHash, recordCore, actionSignatures } of after.records.slice(before.records.length))
    if (actionSignatures.some(({ signerAgentId }) => signerAgentId === id))
      ask("action", { recordHash, anchorHash: recordCore.anchorHash });
};

/** That an anchor is kept under its own name. */
export const askAnchorNames = ({ member, commands }: Committed): void => {
  for (const command of commands) {
    if (command.kind !== "keep-anchor") continue;
    if (Record.anchorHashOf(Reanchor.bodyOf(command.anchor)) !== command.anchorHash)
      violate("disk", `member ${member.index} keeps an anchor under another's name`);
  }
};
