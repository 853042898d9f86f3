// Good arguments of every tool, and the two questions that tests of refusals ask.

import { expect } from "vitest";
import * as Catalog from "../../src/mcp/Catalog.ts";
import type { Tool } from "../../src/mcp/Tool.ts";
import type { OperationName } from "../../src/operations/OperationError.ts";
import * as RawHttp from "./RawHttp.ts";

export const id = (prefix: string, byteCount: number): string =>
  prefix + Buffer.alloc(byteCount, 1).toString("base64url");

const owner = { kind: "owner", mode: "trusted-local" } as const;
/** Every tool that there is: whom each is for is another question. */
export const everyTool: ReadonlyArray<Tool> = [
  ...new Set([...Catalog.toolsOf(owner, false), ...Catalog.toolsOf(owner, true, "releasable")]),
];

/** Good arguments of every tool. */
export const goodArguments: Readonly<Record<OperationName, Readonly<Record<string, unknown>>>> = {
  register: { operationId: id("opn_", 16), principalId: id("prn_", 16), agentName: "alice" },
  status: {},
  search_agents: { agentName: "bob" },
  search_conversations: {},
  read_conversation: { address: "agent:bob" },
  send_message: { input: { to: "agent:bob", text: "hello" } },
  read_inbox: {},
  acknowledge_delivery: { deliveryToken: id("dlv_", 32) },
  read_event: { eventId: id("evt_", 32) },
  event_subscription_status: {},
  revoke_event_subscription: {},
  resume_event_subscription: {},
  list_holds: {},
  read_hold: { holdId: id("hld_", 16) },
  discard_hold: { holdId: id("hld_", 16) },
  release_hold: { holdId: id("hld_", 16) },
};
export const errorOf = async (
  port: number,
  name: OperationName,
  args: unknown = goodArguments[name],
  token?: string,
) => (await RawHttp.callTool(port, name, args, token)).body.error;
export const issuesOf = async (port: number, name: OperationName, args: unknown) => {
  const error = await errorOf(port, name, args);
  expect([error?.code, Object.keys(error?.data ?? {})]).toEqual([-32_602, ["issues"]]);
  return error?.data?.issues as ReadonlyArray<{
    readonly path: ReadonlyArray<unknown>;
    readonly message: string;
  }>;
};
export const pathsOf = async (port: number, name: OperationName, args: unknown) =>
  (await issuesOf(port, name, args)).map(({ path }) => path);
