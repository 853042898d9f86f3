// The official MCP client of one endpoint, over all of its lives: a call goes to whoever lives now, and fails as `Away`
// when that life ends under it. What comes back is decoded here, closed.

import { Client, ProtocolError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import * as Schema from "effect/Schema";
import * as Address from "@social-harness/protocol/address/Address";
import { Item } from "@social-harness/protocol/delivery/Item";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import { DeliveryToken, OperationId, PostId } from "@social-harness/protocol/identity/Identifier";
import type { Resident } from "./Resident.ts";

/** Nobody answered: the call may have had its effect or not. Repeating it under its key is right. */
export class Away extends Error {
  override readonly name = "Away";
}

/** The endpoint answered that it could not, with a reason. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly reason: string;
  constructor(tool: string, reason: string) {
    super(`${tool} answered ${reason}`);
    this.reason = reason;
  }
}

const page = <S extends Schema.Struct.Fields>(fields: S) =>
  Schema.Struct({ kind: Schema.Literal("page"), ...fields });

const holdEnded = Closed.decoder(Schema.Struct({ kind: Schema.Literals(["released", "discarded"]) }));

const decoders = {
  register: Closed.decoder(
    Schema.Union([
      Schema.Struct({ kind: Schema.Literal("registered"), agentCard: AgentCard.schema }),
      Schema.Struct({
        kind: Schema.Literals([
          "name_taken",
          "key_already_registered",
          "idempotency_conflict",
          "admission_refused",
        ]),
      }),
    ]),
  ),
  status: Closed.decoder(
    Schema.Union([
      Schema.Struct({ kind: Schema.Literal("unregistered") }),
      Schema.Struct({ kind: Schema.Literal("active"), agentCard: AgentCard.schema }),
    ]),
  ),
  send_message: Closed.decoder(
    Schema.Struct({
      status: Schema.Literals(["certified", "pending"]),
      postId: PostId.schema,
      operationId: Schema.optionalKey(OperationId.schema),
    }),
  ),
  read_inbox: Closed.decoder(
    Schema.Struct({
      items: Schema.Array(
        Schema.Struct({
          deliveryToken: DeliveryToken.schema,
          item: Item,
          released: Schema.optionalKey(Schema.Literal(true)),
        }),
      ),
      nextCursor: Schema.optionalKey(Schema.String),
    }),
  ),
  acknowledge_delivery: Closed.decoder(Schema.Struct({})),
  release_hold: holdEnded,
  discard_hold: holdEnded,
  search_conversations: Closed.decoder(
    page({ addresses: Schema.Array(Address.MessageAddress), hasMore: Schema.Boolean }),
  ),
  read_conversation: Closed.decoder(
    page({ records: Schema.Array(HistoryRecord), continuation: Schema.NullOr(Schema.String) }),
  ),
} as const;

type Tool = keyof typeof decoders;
export type ResultOf<Name extends Tool> = ReturnType<(typeof decoders)[Name]>;

const decodeReady = Closed.decoder(
  Schema.Struct({
    pid: Schema.Int,
    mcpUrl: Schema.String,
    mode: Schema.String,
    contacts: Schema.Union([Schema.Literals(["everyone", "known"]), Schema.Array(Schema.String)]),
    blocked: Schema.Array(Schema.String),
  }),
);

/** Longer than any tool waits, a pause of the process and a busy machine included. */
const callMsMax = 180_000;

const reasonOf = (error: ProtocolError): string => {
  const { data } = error;
  const reason = typeof data === "object" && data !== null && "reason" in data ? data.reason : null;
  return typeof reason === "string" ? reason : `${error.code} ${error.message}`;
};

export interface EndpointClient {
  readonly call: <Name extends Tool>(
    name: Name,
    input: Readonly<Record<string, unknown>>,
  ) => Promise<ResultOf<Name>>;
  /** Resolves when the next call of a tool has begun. */
  readonly nextCall: (name: Tool) => Promise<void>;
  /** Drops the connection to a life that has ended, so that calls to it end too. */
  readonly drop: () => Promise<void>;
}

/** `tokenOf` reads the owner's token where the daemon asks for one. */
export const create = (resident: Resident, tokenOf?: () => string): EndpointClient => {
  let connected: { readonly life: number; readonly client: Promise<Client> } | null = null;

  const connect = async (ready: unknown): Promise<Client> => {
    const client = new Client(
      { name: "social-harness-faults", version: "0.1.0" },
      { versionNegotiation: { mode: { pin: "2026-07-28" }, probe: { timeoutMs: callMsMax } } },
    );
    const headers: Record<string, string> =
      tokenOf === undefined ? {} : { authorization: `Bearer ${tokenOf()}` };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(decodeReady(ready).mcpUrl), { requestInit: { headers } }),
    );
    return client;
  };

  const current = async (): Promise<Client> => {
    const ready = await resident.ready();
    if (connected?.life !== resident.life()) {
      const fresh = { life: resident.life(), client: connect(ready) };
      connected = fresh;
      fresh.client.catch(() => {
        if (connected === fresh) connected = null;
      });
    }
    return connected.client;
  };

  const awaited = new Map<Tool, PromiseWithResolvers<void>>();

  return {
    nextCall: (name) => {
      const begun = awaited.get(name) ?? Promise.withResolvers<void>();
      awaited.set(name, begun);
      return begun.promise;
    },
    call: async (name, input) => {
      let structured: unknown;
      try {
        const client = await current();
        awaited.get(name)?.resolve();
        awaited.delete(name);
        const result = await client.callTool({ name, arguments: { ...input } }, { timeout: callMsMax });
        structured = result.structuredContent;
      } catch (error) {
        if (error instanceof ProtocolError) throw new Refused(name, reasonOf(error));
        throw new Away(`${resident.name} did not answer ${name}`, { cause: error });
      }
      return decoders[name](structured) as ResultOf<typeof name>;
    },
    drop: async () => {
      const dropped = connected;
      connected = null;
      await dropped?.client.then((client) => client.close()).catch(() => undefined);
    },
  };
};
