// Bugs about believing: signatures that are not looked at, claims that stand for proofs, signers that are counted twice.

import type { Mutant } from "./Mutant.ts";

const fold = "packages/protocol/src/conversation";
const history = "packages/protocol/src/history";

export const evidenceMutants: ReadonlyArray<Mutant> = [
  {
    name: "votes-unverified",
    why: "A vote that nobody checks is anybody's to cast.",
    edits: [
      {
        file: `${fold}/Votes.ts`,
        text: "const votes = withVerified(draft, record, kind, record[kind], entries);",
        replacement:
          "const votes = entries.length === 1 ? { ...record[kind], ...mapOf(entries) } : withVerified(draft, record, kind, record[kind], entries);",
      },
    ],
    scenario: "liars",
    seeds: 500,
  },
  {
    name: "outsiders-vote",
    why: "Whoever is not a member has no vote, or a liar makes as many voters as it needs.",
    edits: [
      {
        file: `${fold}/Votes.ts`,
        text: "if (card === undefined || signerAgentId in known || signerAgentId in added) continue;",
        replacement: "if (signerAgentId in known || signerAgentId in added) continue;",
      },
      {
        file: `${fold}/Votes.ts`,
        text: "if (Statement.verify(trust.verifier, card.signingKey, statement, signature)) {",
        replacement:
          "if (card === undefined || Statement.verify(trust.verifier, card.signingKey, statement, signature)) {",
      },
    ],
    scenario: "liars",
    seeds: 500,
  },
  {
    name: "certificates-unverified",
    why: "An action certificate of made-up signatures stages what nobody voted for.",
    edits: [
      {
        file: `${fold}/Votes.ts`,
        text: 'keepVotes(draft, packet.recordHash, "action", packet.signatures);',
        replacement:
          "draft.replaceOpen({ ...draft.find(packet.recordHash), action: mapOf(packet.signatures) } as OpenRecord);",
      },
    ],
    scenario: "liars",
    seeds: 500,
  },
  {
    name: "notices-unverified",
    why: "A notice makes a record final at once.",
    edits: [
      {
        file: `${fold}/Votes.ts`,
        text: 'keepVotes(draft, recordHash, "action", packet.actionSignatures);\n  if (packet.durabilityAnchorHash === record.anchorHash) {\n',
        replacement:
          "draft.replaceOpen({ ...record, action: mapOf(packet.actionSignatures), durability: mapOf(packet.durabilityVotes) });\n  if (packet.durabilityAnchorHash === record.anchorHash) {\n",
      },
    ],
    scenario: "liars",
    seeds: 500,
  },
  {
    name: "pages-unverified",
    why: "A catch-up page comes from one member, who may have made it up.",
    edits: [
      {
        file: `${fold}/CatchUp.ts`,
        text: "const { members } = chain.take(record);",
        replacement: "const { members } = inputs;",
      },
    ],
    scenario: "liars",
    seeds: 500,
  },
  {
    name: "believe-claimed-round",
    why: "A liar that may claim any round for an old certificate has it carried over what was certified since.",
    edits: [
      {
        file: `${fold}/Proofs.ts`,
        text: "if (carry === null) return anchor.round === prepared.round;",
        replacement: "if (carry === null) return true;",
      },
    ],
    scenario: "rounds",
    seeds: 1_000,
  },
  {
    name: "believe-unproven-statements",
    why: "A head or a preparation that is only claimed makes a round begin at a record that does not exist.",
    edits: [
      {
        file: `${fold}/Statements.ts`,
        text: "if (!isProven(draft, packet)) return",
        replacement: "if (statement.round < 0) return",
      },
    ],
    scenario: "liars",
    seeds: 500,
  },
  {
    name: "reanchors-unverified",
    why: "Statements that nobody signed let a lying leader begin the round wherever it likes.",
    edits: [
      {
        file: `${history}/Reanchor.ts`,
        text: "if (card === undefined || !Statement.verify(verifier, card.signingKey, statement, signature)) {",
        replacement: "if (card === undefined) {",
      },
    ],
    scenario: "rounds",
    seeds: 1_000,
  },
  {
    name: "count-statements-twice",
    why: "A lying leader that repeats a statement needs no quorum, and leaves out whoever prepared something.",
    edits: [
      {
        file: `${history}/Reanchor.ts`,
        text: 'if (index <= previous) refuse("statements are repeated or out of order");',
        replacement: 'if (index < previous) refuse("statements are out of order");',
      },
    ],
    scenario: "rounds",
    seeds: 2_000,
  },
  {
    name: "anchor-by-one-member",
    why: "A leader can make two anchors of one round, so one in a page is believed from it or from more members than can lie.",
    edits: [
      {
        file: `${fold}/CatchUp.ts`,
        text: "if (from !== Reanchor.leaderOf(members, round) && witnesses <= faultsOf(members.n)) return;",
        replacement: "if (witnesses < 1) return;",
      },
    ],
    scenario: "rounds",
    seeds: 2_000,
  },
  {
    name: "prepared-under-any-anchor",
    why: "A certificate proves its round through its anchor alone: with another beside it an old record looks new.",
    edits: [
      {
        file: `${fold}/Proofs.ts`,
        text: "if (Record.anchorHashOf(anchor) !== action.anchorHash || !isCertificate(draft, action)) return false;",
        replacement: "if (!isCertificate(draft, action)) return false;",
      },
    ],
    scenario: "schemes",
    seeds: 1_000,
  },
  {
    name: "claimed-round-accepted",
    why: "A leader that lies about the round of what it carries has an older record go before a newer one.",
    edits: [
      {
        file: `${fold}/Acceptance.ts`,
        text: "  return proven >= carried.round;",
        replacement: "  return proven >= -1;",
      },
    ],
    scenario: "schemes",
    seeds: 600,
  },
];
