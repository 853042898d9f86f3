// The owner's paths beside MCP: what the Router was caught at, a new round for a conversation, the withdrawal of a post, a
// question that comes back, and the webhook's attempts and test. The gate has seen the owner's token before anything comes
// here. Implements MGT-16 to MGT-18, ING-105, ING-106 and RUN-190.

import type { IncomingMessage, ServerResponse } from "node:http";
import * as Address from "@social-harness/protocol/address/Address";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import { ConversationId, PostId } from "@social-harness/protocol/identity/Identifier";
import type { Logger } from "@social-harness/router/Logger";
import * as Schema from "effect/Schema";
import { OperationError } from "../operations/OperationError.ts";
import type { TestResult } from "../operations/EventSubscription.ts";
import type { Owner, ProbeInput, RoundResult, WithdrawResult } from "../operations/Owner.ts";
import { causeOf } from "../state/Log.ts";
import { isStoreFailure } from "../store/Database.ts";
import type { Trip } from "../transport/Canary.ts";
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

/** A path that takes a closed body and answers with a result, each kind of it under one status. */
interface Post<Input, Result extends { readonly kind: string }> {
  readonly decode: (value: unknown) => Input;
  readonly statuses: Readonly<Record<Result["kind"], number>>;
}

const rounds: Post<Parameters<Owner["wishRound"]>[0], RoundResult> = {
  decode: Closed.decoder(
    Schema.Union([
      Schema.Struct({ address: Address.MessageAddress }),
      Schema.Struct({ conversationId: ConversationId.schema }),
    ]),
  ),
  statuses: { wished: 200, "unknown-conversation": 404 },
};

const withdrawals: Post<Parameters<Owner["withdraw"]>[0], WithdrawResult> = {
  decode: Closed.decoder(Schema.Struct({ postId: PostId.schema })),
  statuses: { withdrawn: 200, asked: 200, recovering: 200, ended: 409, "unknown-post": 404 },
};

const probes: Post<ProbeInput, Trip> = {
  decode: Closed.decoder(Schema.Struct({ agentName: Schema.optionalKey(AgentName.schema) })),
  statuses: { returned: 200, "not-connected": 200, silent: 200, "no-conversation": 404 },
};

const webhookTests: Post<Readonly<Record<string, never>>, TestResult> = {
  decode: Closed.decoder(Schema.Record(Schema.String, Schema.Never)),
  statuses: { passed: 200, failed: 200, none: 404 },
};

const take = async <Input extends object, Result extends { readonly kind: string }>(
  incoming: IncomingMessage,
  { decode, statuses }: Post<Input, Result>,
  ask: (input: Input) => Promise<Result>,
): Promise<Reply> => {
  const body = await RequestBody.read(incoming);
  const input = body.ok ? inputOf(body.value, decode) : null;
  if (input === null) return { status: 400, body: { kind: "malformed" } };
  const result = await ask(input);
  return { status: statuses[result.kind as Result["kind"]], body: result };
};

const inputOf = <Input extends object>(value: unknown, decode: (value: unknown) => Input): Input | null => {
  try {
    return decode(value);
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
};

const replyTo = async (incoming: IncomingMessage, { owner, logger }: OwnerPathsOptions): Promise<Reply> => {
  try {
    if (incoming.url === Gate.roundsPath) return await take(incoming, rounds, owner.wishRound);
    if (incoming.url === Gate.withdrawalsPath) return await take(incoming, withdrawals, owner.withdraw);
    if (incoming.url === Gate.probesPath) return await take(incoming, probes, owner.probe);
    if (incoming.url === Gate.webhookTestPath) return await take(incoming, webhookTests, owner.testWebhook);
    if (incoming.url === Gate.webhookAttemptsPath) {
      return { status: 200, body: { attempts: owner.webhookAttempts() } };
    }
    return { status: 200, body: owner.evidence() };
  } catch (error) {
    if (error instanceof OperationError && error.reason === "not-registered") {
      return { status: 409, body: { kind: "not-registered" } };
    }
    if (!isStoreFailure(error)) logger("error", "what the owner asked for failed", causeOf(error));
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
