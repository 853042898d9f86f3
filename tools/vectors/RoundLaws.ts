// Records of later rounds that are well-formed, hashed and signed by everyone the case needs, and still break one law each:
// where a round may begin, what it may carry, and under which round a record may be stored.

import type {
  CompletedReanchor,
  HistoryRecord,
  RouterAnchor,
} from "@social-harness/protocol/history/Evidence";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import type { RecordReason } from "@social-harness/protocol/history/RecordError";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import { AnchorHash, ConversationId, RecordHash } from "@social-harness/protocol/identity/Identifier";
import * as Conversations from "./Conversations.ts";
import { seeded } from "./Family.ts";
import { type Changed, changing, openedCarried, openedLater } from "./RoundChains.ts";
import * as Rounds from "./Rounds.ts";

export interface Unlawful {
  /** The clause of docs/spec/history.md that it breaks. */
  readonly clause: "HIS-110" | "HIS-112" | "HIS-113" | "HIS-114" | "HIS-115";
  readonly name: string;
  readonly height: number;
  readonly reason: RecordReason;
  /** The words of the verification function, so that a case cannot fail for another law than its own. */
  readonly says: string;
  readonly record: HistoryRecord;
}

type Case = Omit<Unlawful, "clause" | "height" | "reason"> & { readonly reason?: RecordReason };

const under = (
  clause: Unlawful["clause"],
  height: number,
  cases: ReadonlyArray<Case>,
): ReadonlyArray<Unlawful> => cases.map((one) => ({ clause, height, reason: "anchor", ...one }));

const otherRecord = RecordHash.fromBytes(seeded("a record of no chain"));
const otherAnchor = AnchorHash.fromBytes(seeded("an anchor of no chain"));

/** The re-anchor with its first statement under its second one's signature: everybody's words, one of them not true. */
const forged = (reanchor: CompletedReanchor): CompletedReanchor => {
  const [first, second, ...rest] = reanchor.statements as readonly [
    Rounds.SignedStatement,
    Rounds.SignedStatement,
    ...ReadonlyArray<Rounds.SignedStatement>,
  ];
  return { ...reanchor, statements: [{ ...first, signature: second.signature }, second, ...rest] };
};
const forgedCase = {
  reason: "signature" as const,
  says: "a statement's signature does not verify",
};

const notHere = "the round does not begin at a record of this chain";
const notCarried = "the record that the round carries does not follow its base";

/** Against the laws of the action anchor, in the place of the record at height 4 of a chain in round 3 and of others. */
const actionAnchors = (cast: Conversations.Cast, { records, anchors }: Changed): ReadonlyArray<Unlawful> => {
  const at = (height: number): HistoryRecord => records[height] as HistoryRecord;
  const round2 = anchors[2] as CompletedReanchor;
  const head = at(3);
  const over = (anchor: RouterAnchor, previous = head): HistoryRecord =>
    Rounds.recordUnder(cast, anchor, previous, ", unlawful");
  /** Round 6 from claims, its anchor before that of `base`. */
  const round6 = (
    claim: Partial<Rounds.Claim>,
    base: HistoryRecord | null = head,
    change: Parameters<typeof Rounds.completed>[4] = {},
  ): CompletedReanchor =>
    Rounds.completed(
      cast,
      6,
      Rounds.statementsOf(cast, 6, [
        { head: base === null ? null : Rounds.headAt(base), prepared: null, ...claim },
      ]),
      base,
      change,
    );
  const absent = { recordHash: otherRecord, height: 3 };
  return [
    ...under("HIS-110", 4, [
      { name: "a new round with a forged statement", ...forgedCase, record: over(forged(round6({}))) },
      {
        name: "the head's round with a forged statement",
        ...forgedCase,
        record: { ...over(round2), routerAnchor: forged(round2) },
      },
    ]),
    ...under("HIS-112", 4, [
      {
        name: "a round before the head's",
        says: "the rounds of the chain fall",
        record: over(Rounds.begun(cast, 1, head)),
      },
      {
        name: "a second anchor of the head's round",
        says: "one round has two anchors",
        // The carried record's action stands in round 2, and so does another re-anchor of that round.
        record: over(Rounds.begun(cast, 2, head)),
      },
      {
        name: "the genesis anchor after a later round",
        says: "a genesis anchor comes back in a later place",
        record: over(cast.anchor),
      },
    ]),
    ...under("HIS-113", 4, [
      {
        name: "an enclosed re-anchor that is not the named one",
        says: "the enclosed anchor is not the one that the record names",
        record: { ...over(round6({})), routerAnchor: round2 },
      },
      {
        name: "the genesis anchor enclosed for a later round's",
        says: "the enclosed anchor is not the one that the record names",
        record: { ...over(round6({})), routerAnchor: cast.anchor },
      },
      { name: "a base that is not in the chain", says: notHere, record: over(round6({ head: absent })) },
      {
        name: "a base at another height than its own",
        says: notHere,
        record: over(round6({ head: { ...Rounds.headAt(head), height: 2 } })),
      },
      {
        name: "a base under another anchor than its own",
        says: notHere,
        record: over(round6({}, head, { previousAnchorHash: otherAnchor })),
      },
      { name: "no base and no carried record above GENESIS", says: notHere, record: over(round6({}, null)) },
      {
        name: "a carried record that is not in the chain",
        says: notCarried,
        record: over(round6({ prepared: { recordHash: otherRecord, height: 3, round: 2 } }, at(2))),
      },
      {
        name: "a carried record that is the base itself",
        says: notCarried,
        record: over(round6({ prepared: { ...Rounds.preparedAt(head, 2), height: 4 } })),
      },
      {
        name: "a carried record two heights above the base",
        says: notCarried,
        record: over(round6({ prepared: { ...Rounds.preparedAt(head, 2), height: 2 } }, at(1))),
      },
      {
        name: "a carried record that would stand where this one does",
        says: notCarried,
        record: over(round6({ prepared: { recordHash: otherRecord, height: 4, round: 2 } })),
      },
      {
        name: "a carried GENESIS that is another than the chain's",
        says: notCarried,
        record: over(round6({ prepared: { recordHash: otherRecord, height: 0, round: 0 } }, null)),
      },
    ]),
  ];
};

/** Against the laws of the durability anchor, in the place of the record at height 3, which round 3 carries. */
const durabilityAnchors = (
  cast: Conversations.Cast,
  { records, anchors }: Changed,
): ReadonlyArray<Unlawful> => {
  const at = (height: number): HistoryRecord => records[height] as HistoryRecord;
  const [second, head, record] = [at(1), at(2), at(3)];
  const round2 = anchors[2] as CompletedReanchor;
  const round3 = anchors[3] as CompletedReanchor;
  const under3 = (durabilityAnchor: CompletedReanchor): HistoryRecord =>
    Rounds.certified(cast, record.recordCore, round2, durabilityAnchor);
  const prepared = Rounds.preparedAt(record, 2);
  const round6 = (
    claim: Partial<Rounds.Claim>,
    base = head,
    change: Parameters<typeof Rounds.completed>[4] = {},
  ) =>
    Rounds.completed(
      cast,
      6,
      Rounds.statementsOf(cast, 6, [{ head: Rounds.headAt(base), prepared, ...claim }]),
      base,
      change,
    );
  const notLater = "the durability votes stand under a round that is not later than the action's";
  const without = "the durability votes stand under a round that does not carry the record";
  const elsewhere = "the durability votes stand under a round that begins at another record";
  const subject = VerifyRecord.subjectOf(record.recordHash, record.recordCore);
  const carrying = { ...subject, anchorHash: Reanchor.hashOf(round3) };
  const signers = Conversations.leastSigners(cast, 3, cast.members.quorum);
  const inCarried = under("HIS-114", 3, [
    { name: "the action anchor spelled out a second time", says: notLater, record: under3(round2) },
    {
      name: "a carrying re-anchor of an earlier round",
      says: notLater,
      record: under3(Rounds.begun(cast, 1, head, prepared)),
    },
    {
      name: "a carrying re-anchor of the action's own round",
      says: notLater,
      record: under3(Rounds.begun(cast, 2, head, prepared)),
    },
    { name: "a later round that carries nothing", says: without, record: under3(round6({ prepared: null })) },
    {
      name: "a later round that carries another record",
      says: without,
      record: under3(round6({ prepared: { ...prepared, recordHash: otherRecord } })),
    },
    {
      name: "a later round that begins at the record itself",
      says: without,
      record: under3(round6({ head: Rounds.headAt(record), prepared: null }, record)),
    },
    {
      name: "a later round that begins below the predecessor",
      says: elsewhere,
      record: under3(round6({ prepared: { ...prepared, height: 2 } }, second)),
    },
    {
      name: "a later round that begins at another record of the predecessor's height",
      says: elsewhere,
      record: under3(round6({ head: { recordHash: otherRecord, height: 2 } }, head)),
    },
    {
      name: "a later round without a base",
      says: elsewhere,
      record: under3(
        Rounds.completed(
          cast,
          6,
          Rounds.statementsOf(cast, 6, [{ head: null, prepared: { ...prepared, height: 0 } }]),
          null,
        ),
      ),
    },
    {
      name: "a predecessor at another height than its own",
      says: elsewhere,
      record: under3(
        round6({ head: { ...Rounds.headAt(head), height: 7 }, prepared: { ...prepared, height: 8 } }),
      ),
    },
    {
      name: "a predecessor under another anchor than its own",
      says: elsewhere,
      record: under3(round6({}, head, { previousAnchorHash: otherAnchor })),
    },
    {
      name: "durability votes of the action's round",
      reason: "signature",
      says: "a signature does not verify",
      record: {
        ...record,
        durabilityVotes: Rounds.certified(cast, record.recordCore, round2).durabilityVotes,
      },
    },
    {
      name: "durability votes of the carrying round that is not enclosed",
      reason: "signature",
      says: "a signature does not verify",
      record: { ...record, durabilityAnchor: null },
    },
    {
      name: "action votes of the carrying round",
      reason: "signature",
      says: "a signature does not verify",
      record: {
        ...record,
        actionSignatures: Conversations.signedBy(signers, (id) => VerifyRecord.actionVoteOf(carrying, id)),
      },
    },
    {
      name: "carry votes in the place of durability votes",
      reason: "signature",
      says: "a signature does not verify",
      record: {
        ...record,
        durabilityVotes: Conversations.signedBy(signers, (id) => VerifyRecord.carryVoteOf(carrying, id)),
      },
    },
  ]);
  return [
    ...inCarried,
    ...under("HIS-110", 3, [
      { name: "a carrying round with a forged statement", ...forgedCase, record: under3(forged(round3)) },
    ]),
  ];
};

const openings = (cast: Conversations.Cast): ReadonlyArray<Unlawful> => {
  const later = openedLater(cast);
  const carried = openedCarried(cast);
  const genesis = carried.records[0] as HistoryRecord;
  const round1 = later.anchors[1] as CompletedReanchor;
  const round2 = Rounds.begun(cast, 2, null);
  const foreign = {
    ...cast.anchor,
    conversationId: ConversationId.fromBytes(seeded("another conversation")),
  };
  const inconsistent = "the record's hashes do not recompute";
  const claimed = (claim: Partial<Rounds.Claim>, change: Parameters<typeof Rounds.completed>[4] = {}) =>
    Rounds.completed(cast, 1, Rounds.statementsOf(cast, 1, [{ ...Rounds.nothing, ...claim }]), null, change);
  const opened = (anchor: CompletedReanchor): HistoryRecord => Rounds.recordUnder(cast, anchor, null);
  return [
    ...under("HIS-115", 0, [
      {
        name: "a GENESIS under a round with a base",
        says: notHere,
        record: opened(
          claimed({ head: { recordHash: otherRecord, height: 0 } }, { previousAnchorHash: otherAnchor }),
        ),
      },
      {
        name: "a GENESIS under a round that carries a record",
        says: notCarried,
        record: opened(claimed({ prepared: { recordHash: otherRecord, height: 0, round: 0 } })),
      },
      {
        name: "a GENESIS whose later round is not enclosed",
        says: "the enclosed anchor is not the one that the record names",
        record: { ...opened(round1), routerAnchor: cast.anchor },
      },
      {
        name: "a GENESIS that names another round than its action",
        reason: "inconsistent",
        says: inconsistent,
        record: Rounds.certified(
          cast,
          { ...genesis.recordCore, anchorHash: Reanchor.hashOf(round2) },
          round2,
        ),
      },
      {
        name: "a GENESIS under the genesis anchor of another conversation",
        reason: "inconsistent",
        says: inconsistent,
        record: Rounds.recordUnder(cast, foreign, null),
      },
      {
        name: "a GENESIS under a re-anchor of round 0",
        says: "a re-anchor begins a round after the first",
        record: opened(Rounds.begun(cast, 0, null)),
      },
    ]),
    ...under("HIS-114", 0, [
      {
        name: "a GENESIS stored under a round that carries another",
        says: "the durability votes stand under a round that does not carry the record",
        record: Rounds.certified(
          cast,
          genesis.recordCore,
          round1,
          Rounds.begun(cast, 2, null, { recordHash: otherRecord, height: 0, round: 1 }),
        ),
      },
      {
        name: "a GENESIS stored under a round that begins above it",
        says: "the durability votes stand under a round that begins at another record",
        record: Rounds.certified(
          cast,
          genesis.recordCore,
          round1,
          Rounds.begun(cast, 2, genesis, { recordHash: genesis.recordHash, height: 1, round: 1 }),
        ),
      },
    ]),
  ];
};

/** Every law broken once, in the places of the records of `changing(cast)`. */
export const unlawful = (cast: Conversations.Cast): ReadonlyArray<Unlawful> => {
  const changed = changing(cast);
  return [...actionAnchors(cast, changed), ...durabilityAnchors(cast, changed), ...openings(cast)];
};
