// What the credential of a runtime is worth: at its own endpoint a little, elsewhere nothing.

import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as RawHttp from "./RawHttp.ts";
import { ownerToken, runtimeToken, startEndpoint, textItem } from "./TestEndpoint.ts";
import { goodArguments } from "./ToolArguments.ts";

verifies(
  ["MGT-73", "MGT-80"],
  "C63: a runtime is nobody elsewhere, reads no inbox, and cannot say that somebody else is the author",
  async () => {
    const endpoint = await startEndpoint({ mode: "credentials" });
    endpoint.deliver(textItem("private to its reader"));
    const foreign = {
      owner: "other-owner-".padEnd(43, "o"),
      runtime: "other-runtime-".padEnd(43, "r"),
      metrics: "other-metrics-".padEnd(43, "m"),
    };
    const other = await startEndpoint({ mode: "credentials", tokens: () => foreign });
    const call = (port: number, name: string, args: object, token: string) =>
      RawHttp.callTool(port, name, args, token);

    // Another endpoint's tokens open nothing here, nor this one's there.
    for (const token of Object.values(foreign))
      expect((await call(endpoint.port, "send_message", {}, token)).status).toBe(401);
    for (const token of [ownerToken, runtimeToken])
      expect((await call(other.port, "send_message", {}, token)).status).toBe(401);
    for (const name of ["read_inbox", "acknowledge_delivery", "read_conversation", "release_hold"] as const) {
      const answer = await call(endpoint.port, name, goodArguments[name], runtimeToken);
      expect([name, answer.body.error?.code]).toEqual([name, -32_602]);
    }

    const good = { to: "agent:bob", text: "hello" };
    const forged = ["sender", "from", "author", "agentId", "senderAgentId", "principalId", "onBehalfOf"];
    for (const field of [...forged, "anything"]) {
      for (const args of [
        { input: { ...good, [field]: "agent:bob" } },
        { input: good, [field]: "agent:bob" },
      ]) {
        const answer = await call(endpoint.port, "send_message", args, runtimeToken);
        expect([field, answer.body.error?.code]).toEqual([field, -32_602]);
      }
    }
    expect(endpoint.sent).toEqual([]);
    expect(endpoint.operations.pendingCount()).toBe(1);
    await Promise.all([endpoint.close(), other.close()]);
  },
);
