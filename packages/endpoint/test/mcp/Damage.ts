// Tool calls that are wrong in some way, made from a seed: arguments of every wrong shape, envelopes, headers and bodies.
// Whatever is submitted as a value carries the canary, so that an answer that repeats one gives itself away.

import type { Random } from "@social-harness/testkit/simulation/Random";
import type { OperationName } from "../../src/operations/OperationError.ts";
import * as RawHttp from "./RawHttp.ts";
import { goodArguments } from "./ToolArguments.ts";

export interface DamagedCall {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Whether the message, its envelope and its headers are in order, so that only the call itself can be refused. */
  readonly isCall: boolean;
}

/** No name, address or id may contain it, so that no result has a reason to. */
export const canary = "CANARY_7f3a";

const tools = Object.keys(goodArguments) as ReadonlyArray<OperationName>;

const fields = (
  "operationId principalId agentName admission agentId prefix afterAgentName afterAddress address afterRecordHash " +
  "continuation input to text collective collectiveResponse op action idempotencyKey cursor deliveryToken eventId " +
  "__proto__ constructor toString length name arguments _meta"
).split(" ");

const forged = (prefix: string, byteCount: number, random: Random): string =>
  prefix + Buffer.from(Array.from({ length: byteCount }, () => random.below(256))).toString("base64url");

/** What JSON can say and JavaScript would not write: it stands between these marks until the text is made. */
const asIs = (text: string): string => `\u0001${text}\u0002`;
const rawNumbers = [
  "1e999",
  "-1e999",
  "-0",
  "9007199254740993",
  "1E400",
  "0.1e-400",
  "123456789012345678901234567890",
];

const leaf = (random: Random): unknown => {
  switch (random.below(13)) {
    case 0:
      return canary;
    case 1:
      return `dlv_${canary}`;
    case 2:
      return forged(
        random.pick(["dlv_", "evt_", "rch_", "pst_", "agt_", "opn_", "prn_", ""]),
        random.pick([16, 32]),
        random,
      );
    case 3:
      return asIs(`"${canary}\\ud800"`);
    case 4:
      return `${canary}\0`;
    case 5:
      return random.pick([null, true, false]);
    case 6:
      return asIs(random.pick(rawNumbers));
    case 7:
      return random.pick([[], {}, ""]);
    case 8:
      return random.pick([
        "agent:bob",
        "group:alice,bob",
        `agent:${canary}`,
        "agent:",
        "group:bob,bob",
        "multicast",
      ]);
    case 9:
      return canary.repeat(random.below(40));
    case 10:
      return random.chance(0.02) ? canary.repeat(20_000) : canary;
    case 11: {
      const depth = random.chance(0.02) ? 5_000 : random.below(60);
      return asIs(`${'[{"a":'.repeat(depth)}"${canary}"${"}]".repeat(depth)}`);
    }
    default:
      return random.below(1_000_000) - 500_000;
  }
};

const hostile = (random: Random, depth = 0): unknown => {
  const kind = depth > 3 ? 0 : random.below(5);
  if (kind < 3) return leaf(random);
  const children = Array.from({ length: random.below(5) }, () => hostile(random, depth + 1));
  if (kind === 3) return children;
  return Object.fromEntries(children.map((child) => [random.pick(fields), child]));
};

/** The object with one member set, left out or added, at this level or one below. */
const damaged = (value: Readonly<Record<string, unknown>>, random: Random): unknown => {
  const names = Object.keys(value);
  const name = random.pick([...names, random.pick(fields)]);
  const inner = value[name];
  if (random.chance(0.5) && typeof inner === "object" && inner !== null) {
    return { ...value, [name]: damaged(inner as Readonly<Record<string, unknown>>, random) };
  }
  if (random.chance(0.2)) {
    const { [name]: _, ...rest } = value;
    return rest;
  }
  return { ...value, [name]: hostile(random) };
};

const argumentsOf = (tool: OperationName, random: Random): unknown => {
  if (random.chance(0.1)) return hostile(random);
  const good = goodArguments[random.chance(0.1) ? random.pick(tools) : tool];
  let args: unknown = good;
  for (let i = 1 + random.below(3); i > 0; i--) args = damaged(args as typeof good, random);
  return args;
};

const metaKeys = Object.keys(RawHttp.meta);

/** Parameters whose envelope is damaged as well. */
const envelopeOf = (params: Readonly<Record<string, unknown>>, random: Random): unknown => {
  switch (random.below(6)) {
    case 0:
      return hostile(random);
    case 1:
      return { ...params, name: hostile(random) };
    case 2:
      return { ...params, arguments: hostile(random) };
    case 3:
      return { ...params, _meta: hostile(random) };
    case 4:
      return { ...params, _meta: { ...RawHttp.meta, [random.pick(metaKeys)]: hostile(random) } };
    default:
      return {
        ...params,
        [random.pick(["inputResponses", "requestState", "task", "__proto__"])]: hostile(random),
      };
  }
};

/** JSON with the marked parts as they are. */
const textOf = (value: unknown): string =>
  (JSON.stringify(value) ?? "null").replaceAll(
    /"\\u0001(.*?)\\u0002"/g,
    (_, raw: string) => JSON.parse(`"${raw}"`) as string,
  );

const twice = (text: string, random: Random): string =>
  text.replace("{", `{"${random.pick(fields)}":"${canary}",`);

const broken = (text: string, random: Random): string | Uint8Array => {
  switch (random.below(5)) {
    case 0:
      return text.slice(0, random.below(text.length));
    case 1:
      return text.replace("}", ",}");
    case 2:
      return Buffer.concat([
        Buffer.from(text.slice(0, 20)),
        Buffer.from([0xff, 0xfe]),
        Buffer.from(text.slice(20)),
      ]);
    case 3:
      return `[${text},${text}]`;
    default:
      return random.pick(["", "null", `"${canary}"`, "[]", "5", "{}", `{"${canary}":1}`]);
  }
};

export const make = (random: Random): DamagedCall => {
  const tool = random.pick(tools);
  const params = { name: tool, arguments: argumentsOf(tool, random), _meta: RawHttp.meta };
  const headers = RawHttp.headersOf("tools/call", tool);
  const message = {
    jsonrpc: "2.0",
    id: random.pick<unknown>([1, "one", 0, -5]),
    method: "tools/call",
    params,
  };
  const kind = random.below(20);
  if (kind < 14) {
    const text = textOf(message);
    const again = random.chance(0.05)
      ? text.replace('"arguments":', `"arguments":"${canary}","arguments":`)
      : text;
    return { headers, body: again, isCall: true };
  }
  if (kind < 17) {
    return { headers, body: textOf({ ...message, params: envelopeOf(params, random) }), isCall: false };
  }
  if (kind < 18)
    return { headers, body: twice(textOf({ ...message, id: hostile(random) }), random), isCall: false };
  if (kind < 19) return { headers, body: broken(textOf(message), random), isCall: false };
  const odd = random.pick([canary, "tools/list", "", "=?base64?!?=", "2025-11-25"]);
  return {
    headers: { ...headers, [random.pick(Object.keys(headers))]: odd },
    body: textOf(message),
    isCall: false,
  };
};
