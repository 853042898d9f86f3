// A registered agent that speaks to the Router by hand and puts whatever a test wants into its envelopes. Its card is true;
// nothing else about it has to be.

import { randomBytes } from "node:crypto";
import { onTestFinished } from "vitest";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { MessageId, OperationId, PrincipalId } from "@social-harness/protocol/identity/Identifier";
import { makeRegistryClient } from "@social-harness/registry/client/RegistryClient";
import * as Registration from "@social-harness/registry/Registration";
import {
  createRouterClient,
  type Delivery,
  type SendOutcome,
} from "@social-harness/router/client/RouterClient";
import { createOpener, createSealer } from "@social-harness/router/seal/Sealing";
import * as Envelope from "@social-harness/router/wire/Envelope";
import { identityOf } from "@social-harness/testkit/network/NetworkAgent";
import type { Network } from "@social-harness/testkit/network/Network";
import type { Signer } from "@social-harness/protocol/identity/Signing";

type Json = CanonicalJson.Json;

export interface Stranger {
  readonly card: AgentCard.AgentCard;
  readonly signer: Signer;
  readonly deliveries: ReadonlyArray<Delivery>;
  /** The plaintexts that came, as far as they open. */
  readonly received: () => ReadonlyArray<string>;
  /** An envelope to one agent alone, its plaintext these bytes. */
  readonly whisper: (
    to: AgentCard.AgentCard,
    plaintext: string | Uint8Array,
    overrides?: Partial<Envelope.UnsignedEnvelope>,
  ) => Promise<SendOutcome>;
  /** An envelope in the lane of these agents and the stranger. */
  /** The text of the same envelope, unsent. */
  readonly written: (
    to: AgentCard.AgentCard,
    plaintext: string,
    overrides?: Partial<Envelope.UnsignedEnvelope>,
  ) => string;
  readonly shout: (others: ReadonlyArray<AgentCard.AgentCard>, plaintext: string) => Promise<SendOutcome>;
  readonly close: () => Promise<void>;
}

/** A plaintext of these packets, whether or not they are any. */
export const packed = (packets: ReadonlyArray<Json>, seen: Json = null): string =>
  CanonicalJson.encode({ packets, seen }, 64);

const random = (byteCount: number): Buffer => randomBytes(byteCount);

export const openStranger = async (network: Network, name: string): Promise<Stranger> => {
  const { signer, sealing, sealingKey } = identityOf(name);
  const registry = makeRegistryClient({ url: network.registryUrl, registryKey: network.registryKey });
  const registration = Registration.sign(signer, {
    agentName: name as AgentName,
    operationId: OperationId.fromBytes(random(16)),
    principalId: PrincipalId.fromBytes(random(16)),
    sealingKey,
    registryKey: network.registryKey,
  });
  const answer = await registry.register(registration, null);
  registry.close();
  if (answer.kind !== "registered") throw new Error(`the Registry answered ${answer.kind}`);
  const card = answer.agentCard;
  const sealer = createSealer({ random, clock: Date.now });
  const opener = createOpener({ agentId: card.agentId, sealingKey: sealing });
  const deliveries: Array<Delivery> = [];
  const client = createRouterClient({
    url: network.routerUrl,
    routerKey: network.routerKey,
    card,
    signer,
    verifier: Ed25519.verifier,
    random,
    logger: () => undefined,
    onReady: () => undefined,
    onDeliver: (delivery) => {
      deliveries.push(delivery);
      client.ack(delivery.cursor);
    },
    onGap: () => undefined,
    onDisconnected: () => undefined,
  });
  client.start();
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= client.close());
  onTestFinished(close);

  const write = (
    recipients: ReadonlyArray<AgentCard.AgentCard>,
    plaintext: string | Uint8Array,
    overrides: Partial<Envelope.UnsignedEnvelope> = {},
  ): Envelope.FinishedEnvelope => {
    const ids = Envelope.orderRecipients(recipients.map(({ agentId }) => agentId));
    const cards = ids.map((id) => recipients.find(({ agentId }) => agentId === id) as AgentCard.AgentCard);
    return Envelope.finish(signer, {
      messageId: MessageId.fromBytes(random(16)),
      recipientAgentIds: ids,
      sealed: sealer.seal(cards, Buffer.from(plaintext)),
      senderAgentId: card.agentId,
      senderCardDigest: AgentCard.digestOf(card),
      ...overrides,
    });
  };
  const send = ({ text, envelope }: Envelope.FinishedEnvelope): Promise<SendOutcome> =>
    client.send(text, envelope.messageId);

  return {
    card,
    signer,
    deliveries,
    received: () =>
      deliveries.flatMap(({ envelope }) => opener.open(envelope.sealed)?.toString("utf8") ?? []),
    whisper: (to, plaintext, overrides) => send(write([to], plaintext, overrides)),
    written: (to, plaintext, overrides) => write([to], plaintext, overrides).text,
    shout: (others, plaintext) => send(write([...others, card], plaintext)),
    close,
  };
};
