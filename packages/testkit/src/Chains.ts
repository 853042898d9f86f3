// Small certified chains made from fixed seeds, signed by everybody, for the tests of whoever reads records: export,
// verification, the command line. Knows no store and no network.

import { createPrivateKey, createPublicKey, hash } from "node:crypto";
import * as Content from "@social-harness/protocol/history/Content";
import { sorted, type HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as Membership from "@social-harness/protocol/history/Membership";
import * as Record from "@social-harness/protocol/history/Record";
import * as Statement from "@social-harness/protocol/history/Statement";
import * as VerifyRecord from "@social-harness/protocol/history/VerifyRecord";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import {
  PostId,
  PrincipalId,
  RouterInstanceId,
  SealingKey,
} from "@social-harness/protocol/identity/Identifier";
import type { Signer } from "@social-harness/protocol/identity/Signing";

export interface Actor {
  readonly name: AgentName;
  readonly seed: Buffer;
  readonly signer: Signer;
  readonly card: AgentCard.AgentCard;
}

export interface Chain {
  readonly actors: ReadonlyArray<Actor>;
  readonly members: Membership.Members;
  readonly records: ReadonlyArray<HistoryRecord>;
}

const seedOf = (label: string): Buffer => hash("sha256", `social-harness chains: ${label}`, "buffer");

export const registry: Signer = Ed25519.signerFromSeed(seedOf("registry"));
export const trust: VerifyRecord.Trust = { verifier: Ed25519.verifier, registryKey: registry.publicKey };

/** The same name has the same keys in every test. */
export const actor = (name: string): Actor => {
  const seed = seedOf(`${name} signing`);
  const signer = Ed25519.signerFromSeed(seed);
  const sealing = Buffer.concat([
    Buffer.from("302e020100300506032b656e04220420", "hex"),
    seedOf(`${name} sealing`),
  ]);
  const sealingPublic = createPublicKey(createPrivateKey({ key: sealing, format: "der", type: "pkcs8" }));
  const keys: AgentCard.AgentKeys = {
    agentName: name as AgentName,
    principalId: PrincipalId.fromBytes(seedOf(`${name} principal`).subarray(0, 16)),
    signingKey: signer.publicKey,
    sealingKey: SealingKey.fromBytes(
      Buffer.from(sealingPublic.export({ format: "jwk" }).x as string, "base64url"),
    ),
    registryKey: registry.publicKey,
  };
  const issuedAt = "2026-11-30T12:00:00Z" as AgentCard.Timestamp;
  const card = AgentCard.issue(registry, keys, AgentCard.signKeys(signer, keys), issuedAt);
  return { name: name as AgentName, seed, signer, card };
};

const certify = (
  actors: ReadonlyArray<Actor>,
  core: Record.RecordCore,
  routerAnchor: Record.GenesisAnchor,
) => {
  const recordHash = Record.recordHashOf(core);
  const subject = VerifyRecord.subjectOf(recordHash, core);
  const signed = (statementOf: (id: Actor["card"]["agentId"]) => Statement.Statement) =>
    sorted(
      actors.map(({ signer, card }) => ({
        signerAgentId: card.agentId,
        signature: Statement.sign(signer, statementOf(card.agentId)),
      })),
    );
  return {
    recordHash,
    recordCore: core,
    routerAnchor,
    durabilityAnchor: null,
    actionSignatures: signed((id) => VerifyRecord.actionVoteOf(subject, id)),
    durabilityVotes: signed((id) => VerifyRecord.durabilityVoteOf(subject, id)),
  };
};

/** A chain of the posts, each written by the named member. */
export const chain = (
  names: ReadonlyArray<string>,
  posts: ReadonlyArray<{ readonly author: string; readonly text: string }>,
): Chain => {
  const actors = names.map(actor);
  const members = Membership.ofCards(actors.map(({ card }) => card));
  const anchor: Record.GenesisAnchor = {
    kind: "genesis_anchor",
    conversationId: members.conversationId,
    membershipHash: members.membershipHash,
    round: 0,
    routerInstanceId: RouterInstanceId.fromBytes(seedOf("router").subarray(0, 16)),
  };
  const records: Array<HistoryRecord> = [];
  posts.forEach(({ author, text }, height) => {
    const writer = actors.find(({ name }) => name === author);
    if (writer === undefined) throw new RangeError(`${author} is not a member`);
    const intent: Record.PostIntent = {
      kind: "post_intent",
      conversationId: members.conversationId,
      membershipHash: members.membershipHash,
      authorAgentId: writer.card.agentId,
      postId: PostId.fromBytes(seedOf(`post ${height}`)),
      content: Content.ofText(text),
    };
    const previous = records.at(-1);
    const core =
      previous === undefined
        ? Record.genesisCore(members.membership, intent, anchor)
        : Record.postCore(intent, {
            height,
            previousRecordHash: previous.recordHash,
            anchorHash: Record.anchorHashOf(anchor),
          });
    records.push(certify(actors, core, anchor));
  });
  return { actors, members, records };
};
