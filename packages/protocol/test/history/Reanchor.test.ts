// The completed re-anchor by itself, at every size: what a set of statements decides, and what is no decision.

import * as fc from "fast-check";
import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import { RecordError } from "@social-harness/protocol/history/RecordError";
import type * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { RecordHash } from "@social-harness/protocol/identity/Identifier";
import * as Conversations from "../../../../tools/vectors/Conversations.ts";
import { person, registry } from "../../../../tools/vectors/People.ts";
import { accepted, type Refused, refused, sizes } from "../../../../tools/vectors/Reanchors.ts";
import * as Rounds from "../../../../tools/vectors/Rounds.ts";

const trust: VerifyRecord.Trust = { verifier: Ed25519.verifier, registryKey: registry.publicKey };

const verdictOf = (...input: Parameters<typeof Reanchor.verify>): string => {
  try {
    Reanchor.verify(...input);
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return `${error.reason}: ${error.message}`;
  }
  return "accepted";
};

for (const n of sizes) {
  const cast = Conversations.castOfSize(n);
  const { members } = cast;

  describe(`a completed re-anchor of ${n} members`, () => {
    verifies(["HIS-110", "HIS-111"], "names what its statements decide", () => {
      for (const { name, reanchor } of accepted(cast)) {
        const { base, carried } = Reanchor.verify(trust, members, reanchor);
        expect([base?.recordHash ?? null, carried?.recordHash ?? null], name).toEqual([
          reanchor.body.baseRecordHash,
          reanchor.body.carriedRecordHash,
        ]);
      }
    });

    const refuses = (clause: Refused["clause"]) => () => {
      const cases = refused(cast).filter((one) => one.clause === clause);
      expect(cases).not.toEqual([]);
      for (const { name, reason, says, reanchor } of cases) {
        expect(verdictOf(trust, members, reanchor), name).toBe(`${reason}: ${says}`);
      }
    };
    verifies("HIS-110", "stands on q(n) members' true words about one round", refuses("HIS-110"));
    verifies("HIS-111", "is refused when its body is another decision", refuses("HIS-111"));

    verifies("HIS-110", "is refused by the members of another conversation", () => {
      const others = Membership.ofCards(
        [...cast.people.slice(1), person("outsider")].map(({ card }) => card),
      );
      const [first] = accepted(cast);
      if (first === undefined) throw new RangeError("no cases");
      expect(verdictOf(trust, others, first.reanchor)).toBe(
        "anchor: a re-anchor belongs to another membership",
      );
    });
  });
}

describe("what statements decide", () => {
  const cast = Conversations.castOfSize(7);
  const hash = fc.integer({ min: 1, max: 3 }).map((byte) => RecordHash.fromBytes(Buffer.alloc(32, byte)));
  const height = fc.nat(3);
  const claim = fc.record({
    head: fc.option(fc.record({ recordHash: hash, height })),
    prepared: fc.option(fc.record({ recordHash: hash, height, round: fc.nat(2) })),
  });
  const claims = fc.array(claim, { minLength: 1, maxLength: 7 });
  const statementsOf = (made: ReadonlyArray<Rounds.Claim>) =>
    made.map((one, i) => Rounds.statementOf(cast, Conversations.member(cast, i), 4, one));

  verifies("HIS-111", "is the same in whatever order they stand", () => {
    fc.assert(
      fc.property(
        claims.chain((made) =>
          fc.tuple(fc.constant(made), fc.shuffledSubarray(made, { minLength: made.length })),
        ),
        ([made, shuffled]) => {
          expect(Reanchor.decide(statementsOf(shuffled))).toEqual(Reanchor.decide(statementsOf(made)));
        },
      ),
    );
  });

  verifies(
    "HIS-111",
    "is the highest head and the latest preparation above it, or nothing when heads differ",
    () => {
      fc.assert(
        fc.property(claims, (made) => {
          const decision = Reanchor.decide(statementsOf(made));
          const top = Math.max(-1, ...made.map(({ head }) => head?.height ?? -1));
          const heads = new Set(made.flatMap(({ head }) => (head?.height === top ? [head.recordHash] : [])));
          if (heads.size > 1) {
            expect(decision).toBeNull();
            return;
          }
          expect(decision?.base ?? null).toEqual(top < 0 ? null : { recordHash: [...heads][0], height: top });
          const above = made.flatMap(({ prepared }) => (prepared?.height === top + 1 ? [prepared] : []));
          const latest = Math.max(-1, ...above.map(({ round }) => round));
          const best = above
            .filter(({ round }) => round === latest)
            .map(({ recordHash }) => recordHash)
            .sort()[0];
          expect(decision?.carried ?? null).toEqual(
            best === undefined ? null : { recordHash: best, round: latest },
          );
        }),
      );
    },
  );

  verifies("HIS-111", "is led by every member in turn", () => {
    const leaders = Array.from({ length: 14 }, (_, round) => Reanchor.leaderOf(cast.members, round));
    expect(leaders).toEqual([...cast.members.ids, ...cast.members.ids]);
  });
});
