// List files for every identifier: each prefix with its valid spellings, and the spellings that a decoder must refuse.

import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import { type Files, lines, seeded } from "./Family.ts";

/** File stem, prefix and byte count of every identifier, as the foundations page of the specification lists them. */
export const kinds = [
  ["agent_id", "agt_", 16],
  ["principal_id", "prn_", 16],
  ["operation_id", "opn_", 16],
  ["message_id", "msg_", 16],
  ["router_instance_id", "rti_", 16],
  ["conversation_id", "cnv_", 32],
  ["membership_hash", "mbr_", 32],
  ["post_id", "pst_", 32],
  ["post_intent_hash", "pit_", 32],
  ["anchor_hash", "anc_", 32],
  ["action_hash", "ach_", 32],
  ["record_hash", "rch_", 32],
  ["agent_card_digest", "acd_", 32],
  ["collective_id", "col_", 32],
  ["delivery_token", "dlv_", 32],
  ["event_id", "evt_", 32],
  ["history_continuation", "", 32],
  ["signing_key", "", 32],
  ["sealing_key", "", 32],
  ["ed25519_signature", "", 64],
] as const;

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** The same characters with one bit set that the last character does not carry. */
const withStrayBit = (body: string, bit: number): string => {
  const last = alphabet.indexOf(body.at(-1) as string);
  return body.slice(0, -1) + (alphabet[last | bit] as string);
};

const bodiesOf = (stem: string, byteCount: number): ReadonlyArray<string> =>
  [
    Buffer.alloc(byteCount, 0x00),
    Buffer.alloc(byteCount, 0xff),
    Buffer.alloc(byteCount, 0xfb),
    Buffer.from(Array.from({ length: byteCount }, (_, i) => i)),
    ...[1, 2, 3].map((i) =>
      Buffer.concat([seeded(`${stem} ${i}`), seeded(`${stem} ${i}+`)]).subarray(0, byteCount),
    ),
  ].map(Base64Url.encode);

const invalidOf = (stem: string, prefix: string, byteCount: number): ReadonlyArray<string> => {
  const body = bodiesOf(stem, byteCount)[4] as string;
  const zeros = Base64Url.encode(Buffer.alloc(byteCount));
  const strayBits = byteCount % 3 === 2 ? [1, 2] : [1, 2, 4, 8];
  const foreign = kinds
    .filter(([, other, bytes]) => bytes === byteCount && other !== prefix)
    .map(([, other]) => other + body);
  const shape = [
    "",
    prefix + body.slice(0, -1),
    `${prefix}${body}A`,
    `${prefix}${body}=`,
    `${prefix}${body}==`,
    ` ${prefix}${body}`,
    `${prefix}${body} `,
    `${prefix}${body}\t`,
    `${prefix}${body}\r`,
    `${prefix}${body}\0`,
    `${prefix}${body.slice(0, 8)} ${body.slice(9)}`,
    `${prefix}${body.slice(0, 8)}+${body.slice(9)}`,
    `${prefix}${body.slice(0, 8)}/${body.slice(9)}`,
    `${prefix}${body.slice(0, 8)}.${body.slice(9)}`,
    `${prefix}${body.slice(0, 8)}\u00e9${body.slice(9)}`,
    `${prefix}${body.slice(0, 8)}\uff21${body.slice(9)}`,
    `"${prefix}${body}"`,
    prefix + Base64Url.encode(Buffer.alloc(byteCount - 1)),
    prefix + Base64Url.encode(Buffer.alloc(byteCount + 1)),
    prefix + Buffer.alloc(byteCount, 0x5a).toString("hex"),
    ...strayBits.map((bit) => prefix + withStrayBit(zeros, bit)),
  ];
  const spelledWrong =
    prefix === ""
      ? []
      : [
          body,
          prefix,
          prefix.toUpperCase() + body,
          prefix.slice(0, -1) + body,
          `${prefix.slice(0, -1)}-${body}`,
          `${prefix}${prefix}${body}`,
          `${prefix} ${body}`,
        ];
  return [...shape, ...spelledWrong, ...foreign];
};

export const files = (): Files =>
  new Map(
    kinds.flatMap(([stem, prefix, byteCount]) => [
      [`${stem}_valid.txt`, lines(bodiesOf(stem, byteCount).map((body) => prefix + body))] as const,
      [`${stem}_invalid.txt`, lines(invalidOf(stem, prefix, byteCount))] as const,
    ]),
  );
