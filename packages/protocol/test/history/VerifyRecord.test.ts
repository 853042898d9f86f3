// The one verification function: what it accepts, and that it refuses every single thing that can be wrong with a record,
// each for its own reason. Real Ed25519 throughout.

import { describe, expect } from "vitest";
import { createAgents } from "@social-harness/testkit/simulation/Agents";
import { certifiedBy } from "@social-harness/testkit/simulation/Certify";
import { verifies } from "@social-harness/testkit/Verifies";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Record from "@social-harness/protocol/history/Record";
import type { SignerEvidence } from "@social-harness/protocol/history/Statement";
import {
  ActionHash,
  AnchorHash,
  ConversationId,
  MembershipHash,
  PostIntentHash,
  RecordHash,
  RouterInstanceId,
} from "@social-harness/protocol/identity/Identifier";
import { type Chain, chainFor, reasonOf, recast, sizes, swapped, verifyAt } from "./Chain.ts";

const quorums = new Map([
  [2, 2],
  [3, 3],
  [4, 3],
  [7, 5],
  [10, 7],
  [32, 22],
]);
const bytes32 = Buffer.alloc(32, 0x5a);

/** Keeps `count` entries, the author's always among them. */
const thinned = (
  entries: ReadonlyArray<SignerEvidence>,
  author: string,
  count: number,
): ReadonlyArray<SignerEvidence> => {
  const others = entries.filter(({ signerAgentId }) => signerAgentId !== author).slice(0, count - 1);
  return entries.filter((entry) => entry.signerAgentId === author || others.includes(entry));
};

describe("a good chain", () => {
  for (const n of sizes) {
    verifies("HIS-60", `of ${n} members verifies record for record, signed by all`, () => {
      const chain = chainFor(n);
      chain.records.forEach((record, height) => {
        const { members, ...head } = verifyAt(chain, height, record);
        expect(head).toEqual({
          height,
          recordHash: record.recordHash,
          anchorHash: Record.anchorHashOf(chain.anchor),
          round: 0,
        });
        expect(members.membershipHash).toBe(chain.members.membershipHash);
      });
    });

    verifies(
      ["HIS-33", "HIS-08"],
      `of ${n} members needs all for GENESIS and q(n) for the rest, no more`,
      () => {
        const chain = chainFor(n);
        chain.records.forEach((record, height) => {
          const { authorAgentId } = record.recordCore.action;
          const quorum = quorums.get(n) as number;
          const enough: HistoryRecord = {
            ...record,
            actionSignatures: thinned(record.actionSignatures, authorAgentId, height === 0 ? n : quorum),
            durabilityVotes: record.durabilityVotes.slice(-quorum),
          };
          expect(verifyAt(chain, height, enough).recordHash).toBe(record.recordHash);
        });
      },
    );

    verifies("HIS-62", `of ${n} members does not verify with one signature fewer`, () => {
      const chain = chainFor(n);
      chain.records.forEach((record, height) => {
        const { authorAgentId } = record.recordCore.action;
        const quorum = quorums.get(n) as number;
        const action = thinned(record.actionSignatures, authorAgentId, (height === 0 ? n : quorum) - 1);
        const durability = record.durabilityVotes.slice(0, quorum - 1);
        expect(reasonOf(() => verifyAt(chain, height, { ...record, actionSignatures: action }))).toBe(
          "threshold",
        );
        expect(reasonOf(() => verifyAt(chain, height, { ...record, durabilityVotes: durability }))).toBe(
          "threshold",
        );
        const others = record.actionSignatures.filter(({ signerAgentId }) => signerAgentId !== authorAgentId);
        expect(reasonOf(() => verifyAt(chain, height, { ...record, actionSignatures: others }))).toBe(
          "threshold",
        );
      });
    });
  }
});

describe("hashes", () => {
  const chain = chainFor(4);
  const genesis = chain.records[0] as HistoryRecord;
  const post = chain.records[2] as HistoryRecord;
  const verifyChanged =
    (record: HistoryRecord, height: number) =>
    (core: object, more: object = {}) =>
      reasonOf(() =>
        verifyAt(chain, height, {
          ...record,
          recordCore: { ...record.recordCore, ...core },
          ...more,
        } as HistoryRecord),
      );

  for (const [name, record, height] of [
    ["GENESIS", genesis, 0],
    ["POST", post, 2],
  ] as const) {
    const refusal = verifyChanged(record, height);
    const { action } = record.recordCore;
    const changes: ReadonlyArray<[string, object]> = [
      ["anchorHash", { anchorHash: AnchorHash.fromBytes(bytes32) }],
      ["actionHash", { actionHash: ActionHash.fromBytes(bytes32) }],
      ["action.conversationId", { action: { ...action, conversationId: ConversationId.fromBytes(bytes32) } }],
      ["action.membershipHash", { action: { ...action, membershipHash: MembershipHash.fromBytes(bytes32) } }],
      ["action.authorAgentId", { action: { ...action, authorAgentId: chain.members.ids[3] } }],
      ["action.postIntentHash", { action: { ...action, postIntentHash: PostIntentHash.fromBytes(bytes32) } }],
      ...Object.entries({
        conversationId: ConversationId.fromBytes(bytes32),
        membershipHash: MembershipHash.fromBytes(bytes32),
        authorAgentId: chain.members.ids[3],
        postId: (chain.records[1] as HistoryRecord).recordCore.action.postIntent.postId,
        content: [{ type: "text", text: "Height 2, ünïcode 🎉." }],
      }).map(([field, value]): [string, object] => [
        `action.postIntent.${field}`,
        { action: { ...action, postIntent: { ...action.postIntent, [field]: value } } },
      ]),
      ...(name === "POST"
        ? ([
            ["membershipHash", { membershipHash: MembershipHash.fromBytes(bytes32) }],
            ["action.height", { action: { ...action, height: 3 } }],
            ["action.previousRecordHash", { action: { ...action, previousRecordHash: genesis.recordHash } }],
            ["action.anchorHash", { action: { ...action, anchorHash: AnchorHash.fromBytes(bytes32) } }],
          ] as ReadonlyArray<[string, object]>)
        : ([
            ["action.anchor", { action: { ...action, anchor: { ...chain.anchor, round: 1 } } }],
            [
              "membership.conversationId",
              {
                membership: {
                  ...chain.members.membership,
                  conversationId: ConversationId.fromBytes(bytes32),
                },
              },
            ],
          ] as ReadonlyArray<[string, object]>)),
    ];
    for (const [field, change] of changes) {
      verifies(["HIS-61", "HIS-05"], `of a ${name} do not recompute once ${field} is another`, () => {
        expect(refusal(change)).toBe("inconsistent");
      });
    }
    verifies("HIS-61", `of a ${name} do not recompute under another RecordHash`, () => {
      expect(refusal({}, { recordHash: RecordHash.fromBytes(bytes32) })).toBe("inconsistent");
    });
  }
});

describe("a record whose hashes all recompute, signed by everybody", () => {
  const chain = chainFor(4);
  const post = chain.records[2] as HistoryRecord;
  const refusalOf = (core: Record.RecordCore, height = 2): string =>
    reasonOf(() => verifyAt(chain, height, certifiedBy(chain.signers, core, chain.anchor)));

  verifies("HIS-60", "is taken when nothing was changed", () => {
    expect(refusalOf(recast(post, {}))).toBe("accepted");
  });
  verifies("HIS-60", "is refused at another height or on another predecessor", () => {
    expect(refusalOf(recast(post, { height: 3 }))).toBe("position");
    expect(refusalOf(recast(post, { height: 1 }))).toBe("position");
    const previousRecordHash = (chain.records[0] as HistoryRecord).recordHash;
    expect(refusalOf(recast(post, { previousRecordHash }))).toBe("position");
    expect(refusalOf(post.recordCore, 1)).toBe("position");
    expect(refusalOf((chain.records[0] as HistoryRecord).recordCore, 2)).toBe("position");
    expect(refusalOf(post.recordCore, 0)).toBe("position");
  });
  verifies("HIS-60", "is refused under another anchor", () => {
    const anchorHash = AnchorHash.fromBytes(bytes32);
    expect(refusalOf(recast(post, { anchorHash }))).toBe("anchor");
  });
  verifies("HIS-60", "is refused under another anchor even when it brings that one along", () => {
    const other = { ...chain.anchor, routerInstanceId: RouterInstanceId.fromBytes(Buffer.alloc(16, 1)) };
    const core = recast(post, { anchorHash: Record.anchorHashOf(other) });
    expect(reasonOf(() => verifyAt(chain, 2, certifiedBy(chain.signers, core, other)))).toBe("anchor");
  });
  verifies(["HIS-05", "HIS-07"], "is refused when action and intent contradict each other", () => {
    const { action } = post.recordCore as Record.PostCore;
    const [, author] = chain.members.ids;
    const lies: ReadonlyArray<Partial<Record.PostAction>> = [
      { postIntentHash: PostIntentHash.fromBytes(bytes32) },
      ...[
        { authorAgentId: author as Record.PostAction["authorAgentId"] },
        { conversationId: ConversationId.fromBytes(bytes32) },
        { membershipHash: MembershipHash.fromBytes(bytes32) },
      ].map((change) => {
        const postIntent = { ...action.postIntent, ...change };
        return { postIntent, postIntentHash: Record.postIntentHashOf(postIntent) };
      }),
    ];
    for (const lie of lies) {
      const whole = { ...action, ...lie };
      const core = {
        ...(post.recordCore as Record.PostCore),
        action: whole,
        actionHash: Record.actionHashOf(whole),
      };
      expect(refusalOf(core)).toBe("inconsistent");
    }
    expect(
      refusalOf({
        ...(post.recordCore as Record.PostCore),
        membershipHash: MembershipHash.fromBytes(bytes32),
      }),
    ).toBe("inconsistent");
  });
  verifies("HIS-60", "is refused in another conversation or membership", () => {
    const conversationId = ConversationId.fromBytes(bytes32);
    expect(refusalOf(recast(post, { conversationId }, { conversationId }))).toBe("membership");
    const membershipHash = MembershipHash.fromBytes(bytes32);
    expect(refusalOf(recast(post, { membershipHash }, { membershipHash }))).toBe("membership");
  });
  verifies("HIS-60", "is refused when its author is no member", () => {
    const authorAgentId = chain.stranger.id;
    expect(refusalOf(recast(post, { authorAgentId }, { authorAgentId }))).toBe("author");
  });
  verifies("HIS-13", "is refused when its author used the post id before, whatever the content", () => {
    const { postId } = (chain.records[1] as HistoryRecord).recordCore.action.postIntent;
    const authorAgentId = chain.members.ids[1] as Chain["signers"][number]["id"];
    expect(refusalOf(recast(post, { authorAgentId }, { authorAgentId, postId }))).toBe("author");
    // Another author's post of the same id is another post.
    expect(refusalOf(recast(post, {}, { postId }))).toBe("accepted");
  });
  verifies(["HIS-06", "HIS-115"], "is refused as a GENESIS under a genesis anchor of a later round", () => {
    const { members, anchor } = chain;
    const { postIntent } = (chain.records[0] as HistoryRecord).recordCore.action;
    const later = { ...anchor, round: 1 };
    const core = Record.genesisCore(members.membership, postIntent, later);
    expect(reasonOf(() => verifyAt(chain, 0, certifiedBy(chain.signers, core, later)))).toBe("inconsistent");
  });
  verifies(["HIS-06", "HIS-05"], "is refused as a GENESIS whose anchor is another conversation's", () => {
    const { members, anchor } = chain;
    const { postIntent } = (chain.records[0] as HistoryRecord).recordCore.action;
    const elsewhere = { ...anchor, conversationId: ConversationId.fromBytes(bytes32) };
    expect(refusalOf(Record.genesisCore(members.membership, postIntent, elsewhere), 0)).toBe("inconsistent");
  });
});

describe("the enclosed anchor", () => {
  const chain = chainFor(3);
  for (const height of [0, 2]) {
    const record = chain.records[height] as HistoryRecord;
    verifies("HIS-60", `at height ${height} is the one that the record names`, () => {
      const routerInstanceId = RouterInstanceId.fromBytes(Buffer.alloc(16, 1));
      const refusal = (change: Partial<HistoryRecord>): string =>
        reasonOf(() => verifyAt(chain, height, { ...record, ...change }));
      expect(refusal({ routerAnchor: { ...chain.anchor, routerInstanceId } })).toBe("anchor");
      expect(refusal({ routerAnchor: { ...chain.anchor, round: 1 } })).toBe("anchor");
    });
  }
});

describe("the membership of a GENESIS", () => {
  const chain = chainFor(3);
  const genesis = chain.records[0] as HistoryRecord;
  const { postIntent } = genesis.recordCore.action;
  const refusalOf = (membership: Membership.Membership): string => {
    const membershipHash = Membership.hashOf(membership);
    const { conversationId } = membership;
    const intent = { ...postIntent, membershipHash, conversationId };
    const core = Record.genesisCore(membership, intent, { ...chain.anchor, membershipHash, conversationId });
    return reasonOf(() => verifyAt(chain, 0, certifiedBy(chain.signers, core, chain.anchor)));
  };
  const { membership } = chain.members;

  verifies(
    "HIS-03",
    "is refused in another order, with a repetition, or under another conversation id",
    () => {
      expect(refusalOf({ ...membership, members: swapped(membership.members) })).toBe("membership");
      const twice = [
        membership.members[0],
        ...membership.members.slice(0, 2),
      ] as Membership.Membership["members"];
      expect(refusalOf({ ...membership, members: twice })).toBe("membership");
      expect(refusalOf({ ...membership, conversationId: ConversationId.fromBytes(bytes32) })).toBe(
        "membership",
      );
    },
  );
  verifies(["HIS-60", "IDN-05"], "is refused when the pinned Registry is another than the cards'", () => {
    const other = createAgents(1, "another registry", true).registry.publicKey;
    expect(reasonOf(() => verifyAt(chain, 0, genesis, { ...chain.trust, registryKey: other }))).toBe(
      "membership",
    );
    const forged = createAgents(4, "chain of 3", true).agents.map(({ card }) => card);
    const reissued = Membership.ofCards([
      ...chain.members.cards.slice(1),
      { ...forged[0], registryKey: other } as never,
    ]);
    expect(refusalOf(reissued.membership)).toBe("membership");
  });
});
