// Results as they really are, each against the output schema that its tool advertises over HTTP: every kind of result, records
// of two rounds, every kind of item.

import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import { CollectiveId, OperationId, PostId } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished } from "vitest";
import * as Conversations from "../../../../tools/vectors/Conversations.ts";
import { changing } from "../../../../tools/vectors/RoundChains.ts";
import type { OperationName } from "../../src/operations/OperationError.ts";
import type { Operations, RegisterResult, SearchAgentsResult } from "../../src/operations/Operations.ts";
import { searchConversations } from "../../src/operations/History.ts";
import { cardOf } from "../ingress/CertifiedPosts.ts";
import { chainOf, store } from "../operations/HistoryReader.ts";
import * as RawHttp from "./RawHttp.ts";
import { groupItem, startEndpoint, textItem, type TestEndpointOptions } from "./TestEndpoint.ts";
import { goodArguments } from "./ToolArguments.ts";

const ajv = new AjvJsonSchemaValidator();

const open = async (options: TestEndpointOptions) => {
  const endpoint = await startEndpoint(options);
  onTestFinished(endpoint.close);
  const { result = {} } = (await RawHttp.rpc(endpoint.port, "tools/list")).body;
  const listed = result["tools"] as ReadonlyArray<{ readonly name: string; readonly outputSchema: object }>;
  const schemas = new Map(
    listed.map(({ name, outputSchema }) => [name, ajv.getValidator(outputSchema as never)]),
  );
  return {
    endpoint,
    /** The structured result, which must fit the schema and be the text as well. */
    fitting: async (name: OperationName, args: object = goodArguments[name]) => {
      const { result: answer = {}, error } = (await RawHttp.callTool(endpoint.port, name, args)).body;
      expect([name, error]).toEqual([name, undefined]);
      const structured = answer["structuredContent"] as Readonly<Record<string, unknown>>;
      expect(answer["content"]).toEqual([{ type: "text", text: JSON.stringify(structured) }]);
      const verdict = schemas.get(name)?.(structured);
      expect([name, verdict?.errorMessage, verdict?.valid]).toEqual([name, undefined, true]);
      // A field too many is one that the schema does not know: the check above would have seen a real one.
      expect(schemas.get(name)?.({ ...structured, surprise: 1 }).valid).toBe(false);
      return structured;
    },
  };
};

verifies(["MGT-08", "MGT-117"], "each result of register and status fits its schema", async () => {
  const agentCard = cardOf("alice");
  const results: ReadonlyArray<RegisterResult> = [
    { kind: "registered", agentCard },
    { kind: "name_taken" },
    { kind: "key_already_registered" },
    { kind: "idempotency_conflict" },
    { kind: "admission_refused" },
  ];
  for (const result of results) {
    const { fitting } = await open({ registered: false, overrides: { register: async () => result } });
    expect(await fitting("register")).toEqual(result);
    expect(await fitting("status")).toEqual({ kind: "unregistered" });
  }
  const { fitting } = await open({});
  expect(await fitting("status")).toEqual({ kind: "active", agentCard });
});

verifies(["MGT-08", "MGT-117"], "each result of both searches and of a send fits its schema", async () => {
  const found: ReadonlyArray<SearchAgentsResult> = [
    { kind: "found", agentCard: cardOf("bob") },
    { kind: "not_found" },
    { kind: "page", agentCards: [], hasMore: false },
    { kind: "page", agentCards: [cardOf("bob"), cardOf("carol")], hasMore: true },
  ];
  for (const result of found) {
    const { fitting } = await open({ overrides: { searchAgents: async () => result } });
    expect(await fitting("search_agents")).toEqual(result);
  }
  const { db } = store(chainOf(["ann", "bob", "cyd"], 1), 1);
  const search: Operations["searchConversations"] = ({ afterAddress }) =>
    searchConversations(db, afterAddress);
  for (const status of ["certified", "pending"] as const) {
    const sent = {
      status,
      postId: PostId.fromBytes(Buffer.alloc(32, 1)),
      operationId: OperationId.fromBytes(Buffer.alloc(16, 1)),
    };
    const { fitting } = await open({
      overrides: { searchConversations: search, sendMessage: async () => sent },
    });
    expect(await fitting("send_message")).toEqual(sent);
    expect(await fitting("search_conversations")).toMatchObject({ addresses: ["group:ann,bob,cyd"] });
    expect(await fitting("search_conversations", { afterAddress: "group:zzz,zzzz,zzzzz" })).toMatchObject({
      addresses: [],
    });
  }
});

verifies(
  ["MGT-08", "MGT-117"],
  "pages of real records fit their schema, first, in between and last",
  async () => {
    const { read } = store(chainOf(["ann", "bob"], 60), 60);
    const { fitting } = await open({ overrides: { readConversation: read } });
    const first = await fitting("read_conversation", { address: "agent:bob" });
    expect(first["records"]).toHaveLength(50);
    const last = await fitting("read_conversation", { continuation: first["continuation"] });
    expect([(last["records"] as ReadonlyArray<object>).length, last["continuation"]]).toEqual([10, null]);

    // Records of later rounds: their anchors are completed re-anchors, and some are made durable under another one.
    const { records } = changing(Conversations.castOfSize(4));
    expect(records.some(({ durabilityAnchor }) => durabilityAnchor !== null)).toBe(true);
    expect(records.some(({ routerAnchor }) => routerAnchor.kind === "completed_reanchor")).toBe(true);
    const rounds = await open({
      overrides: { readConversation: async () => ({ kind: "page", records, continuation: null }) },
    });
    await rounds.fitting("read_conversation");
  },
);

verifies(["MGT-08", "MGT-117"], "every kind of item fits, in the inbox and by its id", async () => {
  const { endpoint, fitting } = await open({});
  const failed = {
    kind: "operationFailed",
    postId: PostId.fromBytes(Buffer.alloc(32, 2)),
    to: `agent:${"bob" as AgentName}`,
    error: { reason: "refused", message: "Nobody was there in time." },
  };
  const lost = {
    ...failed,
    id: CollectiveId.fromBytes(Buffer.alloc(32, 3)),
    error: { reason: "context-lost", message: "Nobody remembers." },
  };
  const items = [textItem("hello"), groupItem("hello all"), failed as never, lost as never];
  const tokens = items.map((item) => endpoint.deliver(item));
  const page = await fitting("read_inbox");
  expect((page["items"] as ReadonlyArray<{ item: object }>).map(({ item }) => item)).toEqual(items);
  for (const [i, deliveryToken] of tokens.entries()) {
    const read = await fitting("read_event", { eventId: deliveryToken.replace("dlv_", "evt_") });
    expect(read["item"]).toEqual(items[i]);
    expect(await fitting("acknowledge_delivery", { deliveryToken })).toEqual({});
  }
  expect(await fitting("read_inbox")).toEqual({ items: [] });
});
