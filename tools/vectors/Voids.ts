// Refusals that prove an action void, and sets of them that prove nothing: too few for the members who may lie, or not
// distinct members' true words about that action.

import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import type { RecordReason } from "@social-harness/protocol/history/RecordError";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as Void from "@social-harness/protocol/history/Void";
import { ActionHash } from "@social-harness/protocol/identity/Identifier";
import * as Changes from "./Changes.ts";
import * as Conversations from "./Conversations.ts";
import { type Files, json, seeded } from "./Family.ts";
import { type Person, person, registry } from "./People.ts";
import { sizes } from "./Reanchors.ts";

const actionHash = ActionHash.fromBytes(seeded("a refused action"));
const otherActionHash = ActionHash.fromBytes(seeded("another action"));

export interface Claimed {
  readonly name: string;
  readonly actionHash: ActionHash;
  readonly height: number;
  readonly refusals: ReadonlyArray<Void.SignedRefusal>;
}

export interface Refused extends Claimed {
  readonly reason: RecordReason;
  readonly says: string;
}

const signed = ({ signer }: Pick<Person, "signer">, refusal: Statement.Refusal): Void.SignedRefusal => ({
  ...refusal,
  signature: Statement.sign(signer, refusal),
});

const refusalBy = (
  one: Person,
  reason: Statement.Refusal["reason"],
  about = actionHash,
): Void.SignedRefusal =>
  signed(one, { kind: "refusal", signerAgentId: one.card.agentId, actionHash: about, reason });

/** By the last `count` members, for one reason or for both in turn. */
const refusals = (cast: Conversations.Cast, count: number): ReadonlyArray<Void.SignedRefusal> =>
  cast.people.slice(-count).map((one, i) => refusalBy(one, i % 2 === 0 ? "contact-policy" : "withdrawn"));

const heights = [0, 5];
const wordOf = (height: number): string => (height === 0 ? "a GENESIS" : "a POST");

export const accepted = (cast: Conversations.Cast): ReadonlyArray<Claimed> =>
  heights.flatMap((height) => [
    {
      name: `${wordOf(height)}, by just enough`,
      actionHash,
      height,
      refusals: refusals(cast, Void.refusalsNeeded(cast.members.n, height)),
    },
    { name: `${wordOf(height)}, by all`, actionHash, height, refusals: refusals(cast, cast.members.n) },
  ]);

export const refused = (cast: Conversations.Cast): ReadonlyArray<Refused> =>
  heights.flatMap((height) => {
    const needed = Void.refusalsNeeded(cast.members.n, height);
    const good = refusals(cast, needed);
    const first = good[0] as Void.SignedRefusal;
    const { signature: _, ...words } = first;
    const author = cast.people.at(-needed) as Person;
    const bad = (
      name: string,
      reason: RecordReason,
      says: string,
      set: ReadonlyArray<Void.SignedRefusal>,
    ): Refused => ({ name: `${wordOf(height)}, ${name}`, actionHash, height, refusals: set, reason, says });
    const instead = (refusal: Void.SignedRefusal) => [refusal, ...good.slice(1)];
    const withdrawal = { kind: "withdrawal" as const, authorAgentId: author.card.agentId, actionHash };
    const unsigned = "a refusal's signature does not verify";
    return [
      bad(
        "one refusal short",
        "threshold",
        `${needed - 1} refusals where ${needed} are needed`,
        good.slice(1),
      ),
      bad("a member twice", "threshold", "refusals are repeated or out of order", [first, ...good]),
      ...(needed < 2
        ? []
        : [bad("out of order", "threshold", "refusals are repeated or out of order", good.toReversed())]),
      bad(
        "a refusal by no member",
        "threshold",
        "a refusal is not a member's",
        instead(refusalBy(person("outsider"), "withdrawn")),
      ),
      bad(
        "a refusal of another action",
        "inconsistent",
        "a refusal speaks of another action",
        instead(refusalBy(author, "withdrawn", otherActionHash)),
      ),
      bad(
        "a refusal of another action under this one's name",
        "signature",
        unsigned,
        instead({ ...refusalBy(author, "withdrawn", otherActionHash), actionHash }),
      ),
      bad("a refusal signed by another", "signature", unsigned, instead(signed(person("outsider"), words))),
      bad(
        "a refusal for another reason than the signed one",
        "signature",
        unsigned,
        instead({ ...first, reason: first.reason === "withdrawn" ? "contact-policy" : "withdrawn" }),
      ),
      bad(
        "the author's withdrawal in a refusal's place",
        "signature",
        unsigned,
        instead({ ...first, signature: Statement.sign(author.signer, withdrawal) }),
      ),
    ];
  });

const nameOf = (cast: Conversations.Cast): string => `${cast.people.length} members`;

export const files = (): Files => {
  const casts = sizes.map(Conversations.castOfSize);
  const good = casts.flatMap((cast) => accepted(cast).map((one) => ({ membership: nameOf(cast), ...one })));
  const bad = casts
    .filter(({ people }) => [2, 4, 7].includes(people.length))
    .flatMap((cast) => refused(cast).map(({ says: _, ...one }) => ({ membership: nameOf(cast), ...one })));
  const of = good.findIndex(({ membership, height }) => membership === "4 members" && height > 0);
  const { refusals: base } = good[of] as (typeof good)[number];
  return new Map([
    [
      "voids.json",
      json({
        about:
          "Each of `accepted` proves its action void in the named one of `memberships`; `height` 0 is a GENESIS. Each of " +
          "`refused` does not: it is a set of its own, or the `refusals` of an accepted one (`of` is its index) with one " +
          "change (`path`, then `value`, or `remove`). `needed` says how many refusals it takes.",
        registryKey: registry.publicKey,
        needed: Array.from({ length: 31 }, (_, i) => ({
          n: i + 2,
          genesis: Void.refusalsNeeded(i + 2, 0),
          post: Void.refusalsNeeded(i + 2, 1),
        })),
        memberships: Object.fromEntries(casts.map((cast) => [nameOf(cast), cast.members.membership])),
        accepted: good,
        refused: [
          ...bad,
          ...[...Changes.changedLeaves(base as Json), ...Changes.changedShapes(base as Json)]
            .filter(({ path }) => path.length > 0)
            .map((change) => ({ of, ...change })),
        ],
      }),
    ],
  ]);
};
