// The one preimage rule, worked through: tag, canonical bytes, digest, and the identifiers that are made of digests.

import { hash, preimage } from "@social-harness/protocol/encoding/Hash";
import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import { AgentCardDigest } from "@social-harness/protocol/identity/Identifier";
import { type Files, json } from "./Family.ts";
import { person } from "./People.ts";

const values: ReadonlyArray<readonly [artifact: string, value: Json]> = [
  ["example", {}],
  ["example", null],
  ["example", "\u05e9\u05dc\u05d5\u05dd \u{1f600}"],
  ["example", { b: 1, a: [true, "x"] }],
  ["another-example", { b: 1, a: [true, "x"] }],
  ["example", { "\ufb33": 1, "\u{1f600}": 2, __proto_: 3 }],
  ["example", [1e21, 1e-7, 0.1]],
];

export const files = (): Files => {
  const { card } = person("alice");
  return new Map([
    [
      "hashes.json",
      json({
        about:
          "hash(artifact, value) = SHA-256 of the preimage; the preimage is UTF-8 of `social-harness/v1/` + artifact + NUL, " +
          "then the canonical JSON of the value. An identifier is its prefix and base64url of the first 16 or all 32 bytes.",
        hashes: values.map(([artifact, value]) => ({
          artifact,
          value,
          preimage: preimage(artifact, value).toString("hex"),
          sha256: hash(artifact, value).toString("hex"),
        })),
        identifiers: [
          {
            artifact: "agent-id",
            value: { kind: "agent_identity", signingKey: card.signingKey },
            prefix: "agt_",
            byteCount: 16,
            identifier: AgentCard.agentIdOf(card.signingKey),
          },
          {
            artifact: "agent-card-digest",
            value: card,
            prefix: "acd_",
            byteCount: 32,
            identifier: AgentCardDigest.fromBytes(hash("agent-card-digest", card)),
          },
        ],
      }),
    ],
  ]);
};
