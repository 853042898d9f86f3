// Completed re-anchors judged by themselves: what q(n) statements decide at every size, and every way in which statements
// or a body are not good enough for a round. They name records of no chain; whether one is true of a chain is another family.

import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import type { CompletedReanchor } from "@social-harness/protocol/history/Evidence";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import type { RecordReason } from "@social-harness/protocol/history/RecordError";
import {
  AnchorHash,
  ConversationId,
  MembershipHash,
  RecordHash,
} from "@social-harness/protocol/identity/Identifier";
import * as Changes from "./Changes.ts";
import * as Conversations from "./Conversations.ts";
import { type Files, json, seeded } from "./Family.ts";
import { person, registry } from "./People.ts";
import * as Rounds from "./Rounds.ts";

/** The sizes at which the thresholds differ in kind. */
export const sizes = [2, 3, 4, 7, 10, 32];

const hashes = ["a", "b", "c"]
  .map((label) => RecordHash.fromBytes(seeded(`a stated record, ${label}`)))
  .sort((left, right) => Buffer.compare(RecordHash.toBytes(left), RecordHash.toBytes(right)));
const [low, middle, high] = hashes as unknown as readonly [RecordHash, RecordHash, RecordHash];
const anchorBefore = AnchorHash.fromBytes(seeded("the anchor before"));

const head = (height: number, recordHash = middle): NonNullable<Rounds.Claim["head"]> => ({
  recordHash,
  height,
});
const prepared = (
  height: number,
  round: number,
  recordHash = low,
): NonNullable<Rounds.Claim["prepared"]> => ({ recordHash, height, round });

const round = 9;
type Change = Partial<CompletedReanchor["body"]>;

/** The last members' claims, the last one's first; the first claim that is left over is everybody else's. */
const decided = (
  cast: Conversations.Cast,
  claims: ReadonlyArray<Rounds.Claim>,
  change: Change = {},
): CompletedReanchor => {
  const statements = Rounds.statementsOf(cast, round, claims);
  const hasBase = claims.some((claim) => claim.head !== null);
  return Rounds.completed(cast, round, statements, null, {
    previousAnchorHash: hasBase ? anchorBefore : null,
    ...change,
  });
};

const plain: Rounds.Claim = { head: head(4), prepared: null };
const bearing: Rounds.Claim = { head: head(4), prepared: prepared(5, 3) };

interface Accepted {
  readonly name: string;
  readonly reanchor: CompletedReanchor;
}

export const accepted = (cast: Conversations.Cast): ReadonlyArray<Accepted> => [
  { name: "nothing certified and nothing prepared", reanchor: decided(cast, [Rounds.nothing]) },
  {
    name: "a GENESIS that one prepared",
    reanchor: decided(cast, [{ head: null, prepared: prepared(0, 0) }, Rounds.nothing]),
  },
  { name: "one head of all", reanchor: decided(cast, [plain]) },
  { name: "one record prepared by all", reanchor: decided(cast, [bearing]) },
  {
    name: "the highest head, and what was prepared below it left behind",
    reanchor: decided(cast, [
      { head: head(4, high), prepared: null },
      { head: head(3, low), prepared: prepared(4, 8) },
    ]),
  },
  {
    name: "the highest head of one and no head of the others",
    reanchor: decided(cast, [plain, Rounds.nothing]),
  },
  {
    name: "what is prepared two above the highest head left behind",
    reanchor: decided(cast, [plain, { head: head(4), prepared: prepared(6, 8) }]),
  },
  {
    name: "the later of two preparations, whose hash is the higher",
    reanchor: decided(cast, [
      { head: head(4), prepared: prepared(5, 7, high) },
      { head: head(4), prepared: prepared(5, 6, low) },
    ]),
  },
  {
    name: "the later of two preparations, stated first",
    reanchor: decided(cast, [
      { head: head(4), prepared: prepared(5, 6, low) },
      { head: head(4), prepared: prepared(5, 7, high) },
    ]),
  },
  {
    name: "of two preparations in one round the one of the lower hash",
    reanchor: decided(cast, [
      { head: head(4), prepared: prepared(5, 7, high) },
      { head: head(4), prepared: prepared(5, 7, low) },
    ]),
  },
  {
    name: "of two preparations in one round the one of the lower hash, stated last",
    reanchor: decided(cast, [
      { head: head(4), prepared: prepared(5, 7, low) },
      { head: head(4), prepared: prepared(5, 7, high) },
    ]),
  },
  {
    name: "the statements of all members",
    reanchor: Rounds.completed(
      cast,
      round,
      cast.people.map((one) => Rounds.signedStatement(one, Rounds.statementOf(cast, one, round, bearing))),
      null,
      { previousAnchorHash: anchorBefore },
    ),
  },
];

export interface Refused {
  readonly clause: "HIS-110" | "HIS-111";
  readonly name: string;
  readonly reason: RecordReason;
  readonly says: string;
  readonly reanchor: CompletedReanchor;
}

const misfit = "a statement speaks of another membership, round or instance than the re-anchor";
const undecided = "a re-anchor's body is not what its statements decide";

const badStatements = (cast: Conversations.Cast): ReadonlyArray<Refused> => {
  const good = decided(cast, [bearing]);
  const { statements } = good;
  const first = statements[0] as Rounds.SignedStatement;
  const author = cast.people.find(
    ({ card }) => card.agentId === first.signerAgentId,
  ) as (typeof cast.people)[0];
  const stranger = person("outsider");
  const instead = (statement: Rounds.SignedStatement): CompletedReanchor => ({
    ...good,
    statements: [statement, ...statements.slice(1)],
  });
  const restated = (change: Partial<Parameters<typeof Rounds.signedStatement>[1]>): CompletedReanchor =>
    instead(
      Rounds.signedStatement(author, { ...Rounds.statementOf(cast, author, round, bearing), ...change }),
    );
  const refused = (
    name: string,
    says: string,
    reanchor: CompletedReanchor,
    reason: RecordReason = "anchor",
  ): Refused => ({ clause: "HIS-110", name, reason, says, reanchor });
  const repeated = "statements are repeated or out of order";
  const unsigned = "a statement's signature does not verify";
  return [
    refused("one statement short", "a re-anchor has too few statements", {
      ...good,
      statements: statements.slice(1),
    }),
    refused("a statement twice in the place of another", repeated, {
      ...good,
      statements: [first, first, ...statements.slice(2)],
    }),
    refused("a statement once more", repeated, { ...good, statements: [first, ...statements] }),
    refused("statements out of order", repeated, { ...good, statements: statements.toReversed() }),
    refused(
      "a statement by no member",
      "a statement is not a member's",
      instead(Rounds.signedStatement(stranger, Rounds.statementOf(cast, stranger, round, bearing))),
    ),
    refused("a statement of the round before", misfit, restated({ round: round - 1 })),
    refused("a statement of a later round", misfit, restated({ round: round + 1 })),
    refused(
      "a statement about another Router instance",
      misfit,
      restated({ routerInstanceId: Rounds.instanceOf(round + 1) }),
    ),
    refused(
      "a statement about another conversation",
      misfit,
      restated({ conversationId: ConversationId.fromBytes(seeded("another conversation")) }),
    ),
    refused(
      "a statement about another membership",
      misfit,
      restated({ membershipHash: MembershipHash.fromBytes(seeded("another membership")) }),
    ),
    refused(
      "a statement signed by another member",
      unsigned,
      instead({ ...first, signature: (statements[1] as Rounds.SignedStatement).signature }),
      "signature",
    ),
    refused(
      "a statement whose signature is over another claim",
      unsigned,
      instead({
        ...first,
        signature: Rounds.signedStatement(author, Rounds.statementOf(cast, author, round, plain)).signature,
      }),
      "signature",
    ),
  ];
};

const badBodies = (cast: Conversations.Cast): ReadonlyArray<Refused> => {
  const refused = (
    clause: Refused["clause"],
    name: string,
    says: string,
    claims: ReadonlyArray<Rounds.Claim>,
    change: Change = {},
  ): Refused => ({ clause, name, reason: "anchor", says, reanchor: decided(cast, claims, change) });
  const foreign = "a re-anchor belongs to another membership";
  const conversationId = ConversationId.fromBytes(seeded("another conversation"));
  const membershipHash = MembershipHash.fromBytes(seeded("another membership"));
  const elsewhere = [
    { name: "a body and statements of another conversation", place: { conversationId } },
    { name: "a body and statements of another membership", place: { membershipHash } },
  ];
  const mixed: ReadonlyArray<Rounds.Claim> = [
    { head: head(4, high), prepared: prepared(5, 7, middle) },
    { head: head(3, low), prepared: prepared(5, 6, low) },
  ];
  const first = Rounds.statementsOf(cast, 0, [Rounds.nothing]);
  return [
    refused("HIS-110", "a body of a later round than its statements", misfit, [bearing], {
      round: round + 1,
    }),
    refused("HIS-110", "a body of another Router instance than its statements", misfit, [bearing], {
      routerInstanceId: Rounds.instanceOf(round + 1),
    }),
    refused("HIS-110", "a body of another conversation", foreign, [bearing], { conversationId }),
    refused("HIS-110", "a body of another membership", foreign, [bearing], { membershipHash }),
    ...elsewhere.map(({ name, place }) => ({
      clause: "HIS-110" as const,
      name,
      reason: "anchor" as const,
      says: foreign,
      reanchor: Rounds.completed(
        cast,
        round,
        cast.people.map((one) =>
          Rounds.signedStatement(one, { ...Rounds.statementOf(cast, one, round, Rounds.nothing), ...place }),
        ),
        null,
        place,
      ),
    })),
    {
      clause: "HIS-110",
      name: "a re-anchor of round 0",
      reason: "anchor",
      says: "a re-anchor begins a round after the first",
      reanchor: Rounds.completed(cast, 0, first, null),
    },
    refused("HIS-111", "a lower head than the highest as base", undecided, mixed, { baseRecordHash: low }),
    refused("HIS-111", "no base where a head is stated", undecided, [plain, Rounds.nothing], {
      baseRecordHash: null,
      previousAnchorHash: null,
    }),
    refused("HIS-111", "a base where no head is stated", undecided, [Rounds.nothing], {
      baseRecordHash: middle,
      previousAnchorHash: anchorBefore,
    }),
    refused("HIS-111", "a base without the anchor before", undecided, [plain], { previousAnchorHash: null }),
    refused("HIS-111", "an anchor before without a base", undecided, [Rounds.nothing], {
      previousAnchorHash: anchorBefore,
    }),
    refused("HIS-111", "the preparation of an earlier round carried", undecided, mixed, {
      carriedRecordHash: low,
    }),
    refused("HIS-111", "nothing carried where a record is prepared", undecided, [bearing], {
      carriedRecordHash: null,
    }),
    refused("HIS-111", "a record carried that nobody prepared", undecided, [plain], {
      carriedRecordHash: low,
    }),
    refused(
      "HIS-111",
      "a record carried that is prepared at another height",
      undecided,
      [plain, { head: head(4), prepared: prepared(6, 8) }],
      { carriedRecordHash: low },
    ),
    refused(
      "HIS-111",
      "of two preparations in one round the one of the higher hash",
      undecided,
      [
        { head: head(4), prepared: prepared(5, 7, high) },
        { head: head(4), prepared: prepared(5, 7, low) },
      ],
      { carriedRecordHash: high },
    ),
    ...[low, high].map((baseRecordHash, i) =>
      refused(
        "HIS-111",
        `two highest heads that differ, the ${["lower", "higher"][i] ?? ""} as base`,
        "the statements contradict each other",
        [
          { head: head(4, low), prepared: null },
          { head: head(4, high), prepared: null },
        ],
        { baseRecordHash },
      ),
    ),
  ];
};

export const refused = (cast: Conversations.Cast): ReadonlyArray<Refused> => [
  ...badStatements(cast),
  ...badBodies(cast),
];

/** Every place of one re-anchor damaged. The anchor before is the one thing that only a chain can judge. */
const damaged = (reanchor: CompletedReanchor): ReadonlyArray<Changes.Change> =>
  [...Changes.changedLeaves(reanchor as Json), ...Changes.changedShapes(reanchor as Json)].filter(
    (change) => "remove" in change || change.path.join(".") !== "body.previousAnchorHash",
  );

const nameOf = (cast: Conversations.Cast): string => `${cast.people.length} members`;

export const files = (): Files => {
  const casts = sizes.map(Conversations.castOfSize);
  const good = casts.flatMap((cast) =>
    accepted(cast).map(({ name, reanchor }) => ({
      name,
      membership: nameOf(cast),
      ...(Reanchor.decide(reanchor.statements) as Reanchor.Decision),
      reanchor,
    })),
  );
  const bad = casts
    .filter(({ people }) => [2, 4, 7].includes(people.length))
    .flatMap((cast) =>
      refused(cast).map(({ name, reason, reanchor }) => ({
        name,
        membership: nameOf(cast),
        reason,
        reanchor,
      })),
    );
  const base = good.findIndex(
    ({ name, membership }) => membership === "4 members" && name === "one record prepared by all",
  );
  return new Map([
    [
      "reanchors.json",
      json({
        about:
          "Each of `accepted` is a completed re-anchor that verifies by itself in the named one of `memberships`, and decides " +
          "`base` and `carried`. Each of `refused` does not: it is a `reanchor` of its own, or one of the accepted (`of` is " +
          "its index) with one change (`path`, then `value`, or `remove`). No chain is asked.",
        registryKey: registry.publicKey,
        memberships: Object.fromEntries(casts.map((cast) => [nameOf(cast), cast.members.membership])),
        accepted: good,
        refused: [
          ...bad,
          ...damaged((good[base] as (typeof good)[number]).reanchor).map((change) => ({
            of: base,
            ...change,
          })),
        ],
      }),
    ],
  ]);
};
