// What the AI SDK's MCP package offers to receive events with: its client, whose subscriptions it keeps in a store that the
// host provides, and its webhook handler over the same store. The package is installed on first use and so unknown to the
// type checker; this is the part of its published types that is used here.

import { pathToFileURL } from "node:url";
import * as Installed from "./Installed.ts";

export type Json = Readonly<Record<string, unknown>>;

export interface EventDefinition {
  readonly name: string;
  readonly delivery: ReadonlyArray<string>;
  readonly inputSchema: Json;
  readonly payloadSchema: Json;
}

/** What the package keeps of a subscription. */
export interface Subscription {
  readonly key: string;
  readonly id?: string;
  readonly delivery: { readonly mode: "webhook"; readonly url: string; readonly secret: string };
  readonly refreshBefore?: string | null;
  readonly status: "pending" | "active";
}

export interface Granted {
  readonly id: string;
  readonly refreshBefore: string | null;
}

export interface Event {
  readonly eventId: string;
  readonly name: string;
  readonly timestamp: string;
  readonly data: Json;
}

export interface Store {
  readonly get: (key: string) => Promise<Subscription | undefined>;
  readonly getById: (id: string) => Promise<Subscription | undefined>;
  readonly set: (subscription: Subscription) => Promise<void>;
  readonly update: (key: string, patch: Partial<Subscription>) => Promise<void>;
  readonly delete: (key: string) => Promise<void>;
}

export interface Client {
  readonly experimental_events: {
    readonly list: () => Promise<{ readonly events: ReadonlyArray<EventDefinition> }>;
    readonly subscribe: (options: {
      readonly name: string;
      readonly delivery: { readonly mode: "webhook"; readonly url: string };
    }) => Promise<Granted>;
    readonly refresh: (which: { readonly id: string } | { readonly key: string }) => Promise<Granted>;
    readonly unsubscribe: (which: { readonly id: string }) => Promise<void>;
  };
  readonly callTool: (call: { readonly name: string; readonly arguments: Json }) => Promise<Json>;
  readonly close: () => Promise<void>;
}

interface Package {
  readonly createMCPClient: (options: {
    readonly transport: {
      readonly type: "http";
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    };
    readonly experimental_events: { readonly store: Store };
  }) => Promise<Client>;
  readonly experimental_createMCPEventWebhook: (options: {
    readonly store: Store;
    readonly validatePayload: (payload: {
      readonly definition: EventDefinition;
      readonly data: Json;
    }) => void;
    readonly onEvent: (occurrence: { readonly event: Event }) => Promise<void>;
  }) => (request: Request) => Promise<Response>;
}

export const load = async (): Promise<Package> => {
  const script = Installed.commandOf("@ai-sdk/mcp", "dist/index.js");
  return (await import(pathToFileURL(script).href)) as Package;
};

/** A store in memory: a host's is a table. */
export const memoryStore = (): Store & { readonly all: () => ReadonlyArray<Subscription> } => {
  const kept = new Map<string, Subscription>();
  return {
    all: () => [...kept.values()],
    get: async (key) => kept.get(key),
    getById: async (id) => [...kept.values()].find((one) => one.id === id),
    set: async (subscription) => void kept.set(subscription.key, subscription),
    update: async (key, patch) => {
      const before = kept.get(key);
      if (before !== undefined) kept.set(key, { ...before, ...patch });
    },
    delete: async (key) => void kept.delete(key),
  };
};
