// The host of an agent that is reached by webhook: subscribes with the runtime's token, again and again, across the deaths
// of the daemon. It never looks into the inbox; what it got is what its receiver has recorded.

import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../simulation/Random.ts";
import type { Endpoint } from "./Endpoint.ts";
import type { Faults } from "./Fault.ts";

export interface HookOptions {
  readonly endpoint: Endpoint;
  readonly url: string;
  readonly secret: string;
  readonly random: Random;
  readonly faults: Faults;
  /** Whether more is owed than has arrived, whatever became of it. */
  readonly goesOn: (arrived: number) => boolean;
}

const refreshMsMax = 8_000;
const retryMs = 100;
const lookMs = 200;

/** Too many challenges within a minute, or one that a kill or a busy machine kept from being answered. */
const passing = new Set([-32013, -32015]);

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** Resolves with whether it was granted, or with what the endpoint has against it. */
const subscribe = async ({ endpoint, url, secret }: HookOptions): Promise<boolean | string> => {
  try {
    const { mcpUrl } = (await endpoint.resident.ready()) as { readonly mcpUrl: string };
    const delivery = { mode: "webhook", url, secret };
    const params = { name: "org.social-harness/inbox.item", arguments: {}, delivery, _meta: meta };
    const answer = await fetch(mcpUrl, {
      method: "POST",
      headers: {
        authorization: `Bearer ${readFileSync(endpoint.runtimeToken, "utf8")}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "events/subscribe",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "events/subscribe", params }),
    });
    const { error } = (await answer.json()) as { readonly error?: { readonly code: number } };
    if (error === undefined) return true;
    return passing.has(error.code) ? false : JSON.stringify(error);
  } catch {
    // That life has ended.
    return false;
  }
};

/** How many remote posts have come to their end: received, or held. */
const arrivedAt = ({ database }: Endpoint): number => {
  const db = new DatabaseSync(database, { readOnly: true, timeout: 10_000 });
  try {
    const row = db
      .prepare(
        `SELECT (SELECT count(*) FROM inbox WHERE acknowledged_at IS NOT NULL) +
           (SELECT count(*) FROM firewall_hold) AS arrived`,
      )
      .get();
    return Number(row?.["arrived"]);
  } finally {
    db.close();
  }
};

/** Subscribes and refreshes until everything has arrived. */
export const host = async (options: HookOptions): Promise<void> => {
  const { endpoint, random, faults, goesOn } = options;
  const isOver = (): boolean => !goesOn(arrivedAt(endpoint));
  while (!isOver()) {
    const granted = await subscribe(options);
    if (typeof granted === "string")
      return faults.add(`${endpoint.name} refused its host a webhook: ${granted}`);
    const until = performance.now() + (granted ? random.below(refreshMsMax) : retryMs);
    while (performance.now() < until && !isOver()) await sleep(lookMs);
  }
};
