// How long a read of history may take, and for whom.

import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type { CallOptions, RegistryClient } from "@social-harness/registry/client/RegistryClient";
import { RegistryError } from "@social-harness/registry/client/RegistryError";
import * as Chains from "@social-harness/testkit/Chains";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, expect, vi } from "vitest";
import { createContinuations } from "../../src/operations/Continuations.ts";
import { readConversation, type Snapshot } from "../../src/operations/History.ts";
import * as HistoryReader from "./HistoryReader.ts";

afterEach(() => void vi.restoreAllMocks());

const names = Array.from({ length: 31 }, (_, i) => `stranger-${String(i).padStart(2, "0")}`);
const address = `group:${["ann", ...names].join(",")}`;

const reading = (lookupByName: RegistryClient["lookupByName"]) => {
  const { db } = HistoryReader.store(HistoryReader.chainOf(["ann", "bob"], 3), 3);
  const unused = (): Promise<never> => Promise.reject(new Error("nothing else is asked"));
  return {
    db,
    self: "ann" as AgentName,
    trust: Chains.trust,
    registry: { register: unused, lookupById: unused, list: unused, lookupByName, close: () => {} },
    continuations: createContinuations<Snapshot>(
      (byteCount) => Buffer.alloc(byteCount, 1),
      () => 0,
    ),
  };
};

/** A Registry that answers nobody but some, under the deadline of the call. */
const stalled =
  (asked: Array<string>, answered: ReadonlyArray<string> = []): RegistryClient["lookupByName"] =>
  (name, { deadline }: CallOptions = {}) => {
    asked.push(name);
    if (answered.includes(name)) return Promise.resolve(null);
    return new Promise((_, reject) => {
      deadline?.addEventListener("abort", () =>
        reject(new RegistryError("unavailable", "no answer in time")),
      );
    });
  };

verifies(
  "MGT-193",
  "names that a stalled Registry does not tell of take one deadline, not one each",
  async () => {
    const deadline = new AbortController();
    const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(deadline.signal);
    const asked: Array<string> = [];
    const outcome = readConversation(reading(stalled(asked)), { address });
    const failed = expect(outcome).rejects.toMatchObject({ reason: "history-gap" });
    await expect.poll(() => asked).toEqual(["ann", ...names]);
    expect(timeout.mock.calls).toEqual([[30_000]]);
    deadline.abort();
    await failed;
  },
);

verifies(["MGT-48", "MGT-193"], "a name that is unknown is told as soon as it is known", async () => {
  const outcome = readConversation(reading(stalled([], ["stranger-30"])), { address });
  await expect(outcome).rejects.toMatchObject({ reason: "unknown-agent" });
});

verifies("MGT-191", "a read ends between two records when its caller has left", async () => {
  const gone = new AbortController();
  const options = reading(() => Promise.reject(new Error("nobody is asked")));
  const checks = vi.spyOn(gone.signal, "throwIfAborted");
  checks.mockImplementationOnce(() => gone.abort(new Error("left")));
  await expect(readConversation(options, { address: "agent:bob" }, gone.signal)).rejects.toThrow("left");
  expect(checks).toHaveBeenCalledTimes(2);
});
