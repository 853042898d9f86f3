// The fragments of JSON Schema that tools advertise. Hosts refuse a union at a schema's root, so every root is one
// closed object whose alternatives are optional fields; decoders enforce the exact union. Some hosts compile patterns without
// lookaround, and models read the description of every property. Implements MGT-08 and MGT-117.

import type { JSONObject } from "@modelcontextprotocol/server";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";

export type Fragment = JSONObject;

export type Root = {
  type: "object";
  properties: Record<string, Fragment>;
  required?: Array<string>;
  additionalProperties: false;
};

export const object = (properties: Record<string, Fragment>, required: ReadonlyArray<string> = []): Root => ({
  type: "object",
  properties,
  ...(required.length === 0 ? {} : { required: [...required] }),
  additionalProperties: false,
});

export const text = (description: string): Fragment => ({ type: "string", description });
export const matching = (pattern: RegExp | string, description: string): Fragment => ({
  type: "string",
  pattern: typeof pattern === "string" ? pattern : pattern.source,
  description,
});
/** An identifier: a prefix and the canonical base64url of so many bytes. */
export const id = (prefix: string, byteCount: number, description: string): Fragment =>
  matching(Base64Url.patternOf(byteCount, prefix), description);
export const oneOf = (values: ReadonlyArray<string>, description: string): Fragment => ({
  type: "string",
  enum: [...values],
  description,
});
export const list = (items: Fragment, description: string): Fragment => ({
  type: "array",
  items,
  description,
});
export const flag = (description: string): Fragment => ({ type: "boolean", description });

export const agentName = (description: string): Fragment => ({
  ...matching("^[a-z0-9]+(-[a-z0-9]+)*$", description),
  minLength: 3,
  maxLength: 32,
});

export const agentCard: Fragment = {
  ...object(
    {
      kind: oneOf(["agent_card"], "Always agent_card."),
      agentId: id("agt_", 16, "Derived from the signing key."),
      principalId: id("prn_", 16, "Whom the agent says it acts for; anybody can copy it."),
      agentName: agentName("The registered name."),
      signingKey: id("", 32, "Ed25519 public key."),
      sealingKey: id("", 32, "X25519 public key."),
      registryKey: id("", 32, "The key of the Registry that issued the card."),
      issuedAt: text("UTC second of issue."),
      keySignature: id("", 64, "The agent's own signature over its keys."),
      signature: id("", 64, "The Registry's signature."),
    },
    [
      "kind",
      "agentId",
      "principalId",
      "agentName",
      "signingKey",
      "sealingKey",
      "registryKey",
      "issuedAt",
      "keySignature",
      "signature",
    ],
  ),
  description: "A verified agent card.",
};

const content: Fragment = {
  type: "array",
  description: "What the sender wrote: text and data parts.",
  items: {
    anyOf: [
      object({ type: oneOf(["text"], "A text part."), text: text("What it says.") }, ["type", "text"]),
      object({ type: oneOf(["data"], "A data part."), value: { description: "Any JSON." } }, [
        "type",
        "value",
      ]),
    ],
  },
};

const message = (kind: string, more: Record<string, Fragment>): Fragment => {
  const properties = {
    kind: oneOf([kind], "Direct: from one agent to another. Group: among at least three."),
    postId: id("pst_", 32, "The post, unique per sender."),
    address: text("The conversation; answer to this address."),
    sender: text("Who wrote it, proven by signature."),
    ...more,
    content,
  };
  return object(properties, Object.keys(properties));
};

/** The items that an inbox holds. */
export const item: Fragment = {
  description: "What arrived: another agent's words, or how an operation ended.",
  anyOf: [
    object(
      {
        kind: oneOf(["multicast"], "A message that asks for no formal answer."),
        message: {
          description: "The message and where it stands.",
          anyOf: [
            message("direct", {}),
            message("group", {
              members: list(text("agent:<name>."), "All members, the local agent included."),
            }),
          ],
        },
      },
      ["kind", "message"],
    ),
    object(
      {
        kind: oneOf(
          ["operationFailed"],
          "An own send, or a request to answer, that ended without its effect.",
        ),
        id: id("col_", 32, "The request that cannot be answered any more."),
        postId: id("pst_", 32, "The post that ended without its effect."),
        to: text("The conversation of that post."),
        error: {
          ...object({ reason: text("Why, as a word."), message: text("Why, as a sentence.") }, [
            "reason",
            "message",
          ]),
          description: "Why it ended.",
        },
      },
      ["kind", "to", "error"],
    ),
  ],
};

export const guidance: Fragment = text("The owner's own words about this item; never the sender's.");
export const released: Fragment = {
  type: "boolean",
  enum: [true],
  description: "Present where the owner held the item back first and released it after its turn.",
};
