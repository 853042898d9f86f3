// The largest values that the limits allow, built and measured with the real encoder: whatever certifies must also fit a
// packet, a catch-up page and an export line.

import { expect } from "vitest";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import * as Packet from "@social-harness/protocol/conversation/Packet";
import * as Content from "@social-harness/protocol/history/Content";
import type { CompletedReanchor } from "@social-harness/protocol/history/Evidence";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as Limits from "@social-harness/protocol/Limits";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Conversations from "../../../../tools/vectors/Conversations.ts";
import { person } from "../../../../tools/vectors/People.ts";

const cast = Conversations.castOf(
  Array.from({ length: Limits.membersMax }, (_, i) =>
    person(`${"n".repeat(30)}${String(i).padStart(2, "0")}`),
  ),
);
const { conversationId, membershipHash } = cast.members;
const frame = CanonicalJson.byteLength(Content.ofText(""));
const fullText = Content.ofText("x".repeat(Limits.contentBytesMax - frame));
const deepest: Content.Content = [{ type: "data", value: JSON.parse("[".repeat(8) + "]".repeat(8)) as Json }];
const author = Conversations.member(cast, 0);
const genesis = Record.genesisCore(
  cast.members.membership,
  Conversations.intentOf(cast, author, "largest", fullText),
  cast.anchor,
);
const record = Conversations.certified(cast, genesis);
const { recordHash, ...certified } = record;

/** As large as a completed re-anchor gets: every member states a head and a preparation at the highest height. */
const reanchor: CompletedReanchor = {
  kind: "completed_reanchor",
  body: {
    kind: "reanchor_body",
    conversationId,
    membershipHash,
    round: Number.MAX_SAFE_INTEGER,
    routerInstanceId: Conversations.routerInstanceId,
    previousAnchorHash: genesis.anchorHash,
    baseRecordHash: recordHash,
    carriedRecordHash: recordHash,
  },
  statements: cast.people.map(({ signer, card }) => {
    const height = Number.MAX_SAFE_INTEGER;
    const statement: Statement.ReanchorStatement = {
      kind: "reanchor_statement",
      signerAgentId: card.agentId,
      conversationId,
      membershipHash,
      round: height,
      routerInstanceId: Conversations.routerInstanceId,
      head: { recordHash, height },
      prepared: { recordHash, height, round: height },
    };
    return { ...statement, signature: Statement.sign(signer, statement) };
  }),
};

const packets: ReadonlyArray<Packet.Packet> = [
  {
    kind: "proposal_packet",
    recordCore: genesis,
    authorSignature: Statement.sign(author.signer, {
      kind: "proposal",
      authorAgentId: author.card.agentId,
      actionHash: genesis.actionHash,
    }),
  },
  {
    kind: "record_response",
    recordCore: genesis,
    routerAnchor: reanchor,
    actionSignatures: record.actionSignatures,
  },
  {
    kind: "catch_up_page",
    conversationId,
    afterRecordHash: recordHash,
    items: [{ kind: "certified_record", ...certified, routerAnchor: reanchor, durabilityAnchor: reanchor }],
    hasMore: false,
  },
  reanchor,
];

const bounds = { bytesMax: Limits.packetBytesMax, depthMax: Limits.jsonDepthMax };

verifies(["FND-41", "FND-40"], "the largest record of 32 members fits every packet that carries it", () => {
  expect(CanonicalJson.byteLength(fullText)).toBe(Limits.contentBytesMax);
  for (const packet of packets) {
    const bytes = CanonicalJson.encodeBytes(packet as Json);
    expect(bytes.byteLength, packet.kind).toBeLessThan(Limits.packetBytesMax);
    expect(Packet.decode(CanonicalJson.decodeBytes(bytes, bounds)), packet.kind).toEqual(packet);
  }
});

verifies(["FND-41", "FND-40"], "the largest record fits one line of an export", () => {
  const line = { ...record, routerAnchor: reanchor, durabilityAnchor: reanchor };
  expect(CanonicalJson.byteLength(line as Json)).toBeLessThan(Limits.exportLineBytesMax);
});

verifies(
  ["FND-41", "FND-40"],
  "the deepest content stays within the depth of every boundary that carries it",
  () => {
    const intent = Conversations.intentOf(cast, author, "deepest", deepest);
    const core = Record.genesisCore(cast.members.membership, intent, cast.anchor);
    const { recordHash: _, ...deep } = Conversations.certified(cast, core);
    const page = { kind: "catch_up_page", items: [{ kind: "certified_record", ...deep }] };
    expect(() => CanonicalJson.encode(deepest as Json, Limits.contentDepthMax)).not.toThrow();
    expect(() => CanonicalJson.encode(deepest as Json, Limits.contentDepthMax - 1)).toThrow();
    expect(() => CanonicalJson.encode([page] as Json, Limits.jsonDepthMax)).not.toThrow();
  },
);
