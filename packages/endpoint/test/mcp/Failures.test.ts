import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, expect } from "vitest";
import { RegistryError } from "@social-harness/registry/client/RegistryError";
import * as Catalog from "../../src/mcp/Catalog.ts";
import { OperationError, type Reason } from "../../src/operations/OperationError.ts";
import type { Operations } from "../../src/operations/Operations.ts";
import * as Trouble from "../../src/transport/Trouble.ts";
import { reasons, sendDefects } from "./Reasons.ts";
import * as RawHttp from "./RawHttp.ts";
import { failing, ownerToken, startEndpoint, type TestEndpoint } from "./TestEndpoint.ts";
import { errorOf, goodArguments } from "./ToolArguments.ts";

const endpoints: Array<TestEndpoint> = [];
afterEach(async () => {
  for (const endpoint of endpoints.splice(0)) await endpoint.close();
});
const start = async (options: Parameters<typeof startEndpoint>[0] = {}): Promise<TestEndpoint> => {
  const endpoint = await startEndpoint(options);
  endpoints.push(endpoint);
  return endpoint;
};

/** Operations that all fail with one reason. */
const failingOperations = (reason: string): Partial<Operations> =>
  Object.fromEntries(
    [
      "register",
      "status",
      "searchAgents",
      "searchConversations",
      "readConversation",
      "sendMessage",
      "readInbox",
      "acknowledgeDelivery",
      "readEvent",
      "eventSubscriptionStatus",
      "revokeEventSubscription",
      "resumeEventSubscription",
      "listHolds",
      "readHold",
      "discardHold",
      "releaseHold",
    ].map((method) => [method, failing(reason)]),
  );

verifies(
  ["MGT-62", "MGT-63"],
  "every reason of an operation crosses as itself, and no reason of another does",
  async () => {
    const all = new Set<Reason>([
      ...Object.values(reasons).flat(),
      ...(Object.keys(sendDefects) as Array<Reason>),
    ]);
    for (const reason of all) {
      for (const registered of [true, false]) {
        const holdTools = "releasable";
        const endpoint = await startEndpoint({ registered, holdTools, overrides: failingOperations(reason) });
        const owner = { kind: "owner", mode: "trusted-local" } as const;
        for (const { face } of Catalog.toolsOf(owner, registered, holdTools)) {
          const error = await errorOf(endpoint.port, face.name, goodArguments[face.name], ownerToken);
          const own = (reasons[face.name] as ReadonlyArray<Reason>).includes(reason);
          const field =
            face.name === "send_message" ? sendDefects[reason as keyof typeof sendDefects] : undefined;
          if (field !== undefined) {
            expect([face.name, error?.code, error?.data]).toEqual([
              face.name,
              -32_602,
              { reason, issues: [{ path: ["input", field], message: expect.any(String) as string }] },
            ]);
          } else {
            const data = { reason: own ? reason : "internal" };
            expect([face.name, error?.code, error?.data]).toEqual([face.name, -32_603, data]);
          }
          expect(error?.message).not.toContain("for the log alone");
        }
        for (const { level, fields } of endpoint.log) {
          if (level === "info") expect(Object.keys(fields)).toEqual(["tool", "reason", "message"]);
        }
        await endpoint.close();
      }
    }
  },
);

verifies(
  ["MGT-66", "RUN-16"],
  "an absent Registry's cause crosses in closed words, and nothing else of it",
  async () => {
    const wordsFor = async (cause: unknown): Promise<string | undefined> => {
      const unavailable = new RegistryError("unavailable", "secret words", { cause });
      const register = () =>
        Promise.reject(new OperationError("dependency-unavailable", "x", { cause: unavailable }));
      const endpoint = await start({ registered: false, overrides: { register } });
      const error = await errorOf(endpoint.port, "register");
      expect(error?.data).toEqual({ reason: "dependency-unavailable" });
      return error?.message;
    };
    const thrown = (code: string): Error => Object.assign(new Error("secret words"), { code });
    const selfSigned = await wordsFor(thrown("DEPTH_ZERO_SELF_SIGNED_CERT"));
    expect(selfSigned).toMatch(
      /^The Registry's certificate is not trusted \(self-signed certificate\)\. .*NODE_EXTRA_CA_CERTS/,
    );
    expect(await wordsFor(new RegistryError("invalid-answer", "secret words"))).toBe(
      "What answers at the Registry's address is not to be believed (malformed, or signed by another). Nothing of it was " +
        "taken. Compare registryUrl in config.json with the network's address; where the network has moved, take its new " +
        "address with `social-harness move <invite>`. Where it is right, tell the network's operator.",
    );
    expect(await wordsFor(thrown("CERT_HAS_EXPIRED"))).toContain("(it has expired)");
    expect(await wordsFor(thrown("ECONNREFUSED"))).toContain("cannot be reached (connection refused)");
    for (const other of [thrown("constructor"), new Error("secret words"), undefined]) {
      expect(await wordsFor(other)).toBe(
        "The Registry did not answer in time. Try again. (dependency-unavailable)",
      );
    }
    expect(Trouble.fromWords(selfSigned ?? "")).toEqual({
      kind: "untrusted-certificate",
      detail: "self-signed certificate",
    });
    expect(Trouble.fromWords("The Registry did not answer in time. Try again.")).toBeNull();
  },
);

verifies("MGT-64", "a defect tells its caller nothing, and the log everything", async () => {
  const throwing = (value: unknown) => (): never => {
    throw value;
  };
  const defects = [
    new TypeError("SELECT secret FROM /path/to/store"),
    Object.assign(new Error("with a code of its own"), { code: -32_602, data: { leak: "secret" } }),
    "a thrown string: secret",
    undefined,
  ].map(throwing);
  for (const defect of defects) {
    const endpoint = await start({ overrides: { readInbox: defect, sendMessage: defect } });
    for (const name of ["read_inbox", "send_message"] as const) {
      const answer = await RawHttp.callTool(endpoint.port, name, goodArguments[name]);
      expect([answer.status, answer.body.error?.code, answer.body.error?.data]).toEqual([
        200,
        -32_603,
        { reason: "internal" },
      ]);
      expect(answer.text).not.toMatch(/secret|SELECT|path|code of its own/);
    }
    const lines = endpoint.log.filter(({ event }) => event === "a tool call failed unexpectedly");
    expect(lines.map(({ level, fields }) => [level, fields.tool])).toEqual([
      ["error", "read_inbox"],
      ["error", "send_message"],
    ]);
    for (const { fields } of lines) expect(fields.correlationId).toMatch(/^[A-Za-z0-9_-]{22}$/);
  }
});
