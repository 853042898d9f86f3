// One agent on a test network: its store, its registration and everything that runs once it is registered, composed as
// the endpoint composes them but without MCP. Keys follow from the name, so a store that is opened again meets the same
// identity. Shows tests its inbox, its certified history and its log.

import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { type ActiveAgent, startActiveAgent } from "@social-harness/endpoint/conversations/ActiveAgent";
import * as ContactPolicy from "@social-harness/endpoint/conversations/ContactPolicy";
import * as Inbox from "@social-harness/endpoint/ingress/Inbox";
import { createContinuations } from "@social-harness/endpoint/operations/Continuations";
import { readConversation, type Snapshot } from "@social-harness/endpoint/operations/History";
import type { Delivery, SendInput, SendResult } from "@social-harness/endpoint/operations/Operations";
import { boundCard, register } from "@social-harness/endpoint/operations/Registration";
import { sendMessage } from "@social-harness/endpoint/operations/SendMessage";
import type { Identity } from "@social-harness/endpoint/state/Identity";
import * as Database from "@social-harness/endpoint/store/Database";
import { check } from "@social-harness/endpoint/store/StartUpCheck";
import * as StoreStanding from "@social-harness/endpoint/store/StoreStanding";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { OperationId, PrincipalId } from "@social-harness/protocol/identity/Identifier";
import { makeRegistryClient } from "@social-harness/registry/client/RegistryClient";
import type { Logger } from "@social-harness/router/Logger";
import * as SealingKeys from "@social-harness/router/seal/SealingKeys";
import { type Reached, seedOf } from "./Network.ts";
import { until } from "./Until.ts";

export interface LogLine {
  readonly level: string;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface SendMore extends Pick<SendInput, "idempotencyKey"> {
  /** How long this call waits, in place of what the agent was opened with. */
  readonly waitMs?: number;
}

export interface NetworkAgent {
  readonly name: AgentName;
  readonly card: AgentCard;
  readonly db: Database.Database;
  readonly agent: ActiveAgent;
  readonly lines: ReadonlyArray<LogLine>;
  readonly send: (to: string, text: string, more?: SendMore) => Promise<SendResult>;
  /** All pages of a read from `afterRecordHash` on. */
  readonly history: (
    address: string,
    after?: HistoryRecord["recordHash"],
  ) => Promise<ReadonlyArray<HistoryRecord>>;
  /** Every unacknowledged item, over all pages. */
  readonly items: () => ReadonlyArray<Delivery>;
  /** The texts of the unacknowledged messages, in order. */
  readonly texts: () => ReadonlyArray<string>;
  readonly untilItems: (count: number, waitMs?: number) => Promise<ReadonlyArray<Delivery>>;
  readonly close: () => Promise<void>;
  readonly isClosed: () => boolean;
}

export interface NetworkAgentOptions {
  readonly network: Reached;
  /** Exists; the store is `<name>.sqlite` in it. */
  readonly folder: string;
  readonly name: string;
  readonly clock?: () => number;
  readonly contactPolicy?: ContactPolicy.ContactPolicy;
  /** How long a send waits for its certification; long by default, because tests run on busy machines. */
  readonly sendWaitMs?: number;
}

const sendWaitMsDefault = 45_000;

export const identityOf = (name: string): Identity => {
  const signer = Ed25519.signerFromSeed(seedOf(`${name} signing`));
  const sealing = SealingKeys.fromSeed(seedOf(`${name} sealing`));
  return { signer, sealing, signingKey: signer.publicKey, sealingKey: sealing.publicKey };
};

export const storeOf = (folder: string, name: string): string => join(folder, `${name}.sqlite`);

const random = (byteCount: number): Buffer => randomBytes(byteCount);

const idBytesOf = (label: string): Buffer => createHash("sha256").update(label).digest().subarray(0, 16);

const textOf = ({ item }: Delivery): ReadonlyArray<string> =>
  item.kind === "multicast"
    ? item.message.content.map((part) => (part.type === "text" ? part.text : JSON.stringify(part.value)))
    : [];

/** Opens the store, checks it, registers the agent unless it is, and brings it up. */
export const openAgent = async (options: NetworkAgentOptions): Promise<NetworkAgent> => {
  const { network, folder, clock = Date.now } = options;
  const name = options.name as AgentName;
  const trust = { verifier: Ed25519.verifier, registryKey: network.registryKey };
  const identity = identityOf(name);
  const lines: Array<LogLine> = [];
  const logger: Logger = (level, event, fields = {}) => lines.push({ level, event, fields });
  const path = storeOf(folder, name);
  const schedule = (delayMs: number, fire: () => void): (() => void) => {
    const timer = setTimeout(fire, delayMs);
    return () => clearTimeout(timer);
  };
  const store = Database.open(path);
  const storeStanding = StoreStanding.create({ db: store, path, clock, schedule, logger });
  const { db } = storeStanding;
  const registry = makeRegistryClient({ url: network.registryUrl, registryKey: network.registryKey });
  const opened = async (): Promise<Pick<NetworkAgent, "card" | "agent">> => {
    await check(db, trust);
    db.transaction(() => Inbox.prepare(db, random));
    const card = boundCard(db, identity) ?? (await registered());
    const agent = await startActiveAgent({
      db,
      card,
      signer: identity.signer,
      sealingSecret: identity.sealing,
      trust,
      contactPolicy: options.contactPolicy ?? ContactPolicy.open,
      routerUrl: network.routerUrl,
      routerKey: network.routerKey,
      registry,
      clock,
      random,
      logger,
      storeStanding,
      onAdmitted: () => undefined,
    });
    return { card, agent };
  };
  const registered = async (): Promise<AgentCard> => {
    const answer = await register(
      {
        db,
        identity,
        registry,
        registryKey: network.registryKey,
        admission: undefined,
        clock,
        logger,
      },
      {
        agentName: name,
        operationId: OperationId.fromBytes(idBytesOf(`${name} operation`)),
        principalId: PrincipalId.fromBytes(idBytesOf(`${name} principal`)),
      },
    );
    if (answer.kind !== "registered") throw new Error(`the Registry answered ${answer.kind}`);
    return answer.agentCard;
  };
  let card: AgentCard;
  let agent: ActiveAgent;
  try {
    ({ card, agent } = await opened());
  } catch (error) {
    registry.close();
    db.close();
    throw error;
  }
  const continuations = createContinuations<Snapshot>(random, clock);
  const reading = { db, self: name, trust, registry, continuations };

  const items = (): ReadonlyArray<Delivery> => {
    const all: Array<Delivery> = [];
    let page = Inbox.page(db);
    for (;;) {
      all.push(...page.items);
      if (page.nextCursor === undefined) return all;
      page = Inbox.page(db, page.nextCursor);
    }
  };

  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await agent.close();
    storeStanding.close();
    registry.close();
    db.close();
  };

  return {
    name,
    card,
    db,
    agent,
    lines,
    send: (to, text, { waitMs = options.sendWaitMs ?? sendWaitMsDefault, ...more } = {}) =>
      sendMessage({ db, agent, registry, random, waitMs }, { to, text, ...more }),
    history: async (address, after) => {
      let page = await readConversation(reading, {
        address,
        ...(after === undefined ? {} : { afterRecordHash: after }),
      });
      const records = [...page.records];
      while (page.continuation !== null) {
        page = await readConversation(reading, { continuation: page.continuation });
        records.push(...page.records);
      }
      return records;
    },
    items,
    texts: () => items().flatMap(textOf),
    untilItems: async (count, waitMs) => {
      await until(`${name} holds ${count} items`, () => Inbox.unreadCount(db) >= count, waitMs);
      return items();
    },
    close: () => (closed ??= close()),
    isClosed: () => closed !== undefined,
  };
};
