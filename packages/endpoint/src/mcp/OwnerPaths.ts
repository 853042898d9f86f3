// The owner's paths beside MCP: what the Router was caught at, and a new round for a conversation. The gate has seen the
// owner's token before anything comes here. Implements MGT-16 and MGT-17.

import type { IncomingMessage, ServerResponse } from "node:http";
import * as Address from "@social-harness/protocol/address/Address";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import { ConversationId } from "@social-harness/protocol/identity/Identifier";
import type { Logger } from "@social-harness/router/Logger";
import * as Schema from "effect/Schema";
import { OperationError } from "../operations/OperationError.ts";
import type { Owner, RoundInput, RoundResult } from "../operations/Owner.ts";
import { causeOf } from "../state/Log.ts";
import * as Gate from "./Gate.ts";
import * as RequestBody from "./RequestBody.ts";

export interface OwnerPathsOptions {
  readonly owner: Owner;
  readonly logger: Logger;
}

interface Reply {
  readonly status: number;
  readonly body: object;
}

const decode = Closed.decoder(
  Schema.Union([
    Schema.Struct({ address: Address.MessageAddress }),
    Schema.Struct({ conversationId: ConversationId.schema }),
  ]),
);

const statuses: Readonly<Record<RoundResult["kind"], number>> = {
  wished: 200,
  "unknown-conversation": 404,
  held: 409,
};

const inputOf = (value: unknown): RoundInput | null => {
  try {
    return decode(value);
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
};

const wish = async (incoming: IncomingMessage, owner: Owner): Promise<Reply> => {
  const body = await RequestBody.read(incoming);
  const input = body.ok ? inputOf(body.value) : null;
  if (input === null) return { status: 400, body: { kind: "malformed" } };
  const result = await owner.wishRound(input);
  return { status: statuses[result.kind], body: result };
};

const replyTo = async (incoming: IncomingMessage, { owner, logger }: OwnerPathsOptions): Promise<Reply> => {
  try {
    if (incoming.url === Gate.roundsPath) return await wish(incoming, owner);
    return { status: 200, body: owner.evidence() };
  } catch (error) {
    if (error instanceof OperationError && error.reason === "not-registered") {
      return { status: 409, body: { kind: "not-registered" } };
    }
    logger("error", "what the owner asked for failed", causeOf(error));
    return { status: 503, body: { kind: "failed" } };
  }
};

export const answer = async (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  options: OwnerPathsOptions,
): Promise<void> => {
  const { status, body } = await replyTo(incoming, options);
  outgoing.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  outgoing.end(JSON.stringify(body));
};
