// Good arguments of every tool, and the two questions that tests of refusals ask.

import { expect } from "vitest";
import type { OperationName } from "../../src/operations/OperationError.ts";
import * as RawHttp from "./RawHttp.ts";

export const id = (prefix: string, byteCount: number): string =>
  prefix + Buffer.alloc(byteCount, 1).toString("base64url");

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
};
export const errorOf = async (port: number, name: OperationName, args: unknown = goodArguments[name]) =>
  (await RawHttp.callTool(port, name, args)).body.error;
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
