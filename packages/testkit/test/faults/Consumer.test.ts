// The host of the fault rounds notices an inbox that hands out something twice, in any of the ways there are.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { EndpointClient, ResultOf } from "@social-harness/testkit/faults/Client";
import * as Consumer from "@social-harness/testkit/faults/Consumer";
import { Faults } from "@social-harness/testkit/faults/Fault";
import * as Plan from "@social-harness/testkit/faults/Plan";

type Delivery = ResultOf<"read_inbox">["items"][number];

const deliveryOf = (token: string, postId: string, text: string): Delivery =>
  ({
    deliveryToken: token,
    item: {
      kind: "multicast",
      message: {
        kind: "direct",
        postId,
        address: "agent:ada-agent",
        sender: "agent:ada-agent",
        content: [{ type: "text", text }],
      },
    },
  }) as unknown as Delivery;

/** Consumes from an inbox that always answers `pages(call, acknowledged)`, for a few looks. */
const consume = async (
  pages: (call: number, acknowledged: ReadonlySet<string>) => ReadonlyArray<Delivery>,
): Promise<ReadonlyArray<string>> => {
  const folder = mkdtempSync(join(tmpdir(), "social-harness-consumer-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const faults = new Faults();
  const acknowledged = new Set<string>();
  let looks = 0;
  const client = {
    call: async (name: string, input: Readonly<Record<string, unknown>>) => {
      if (name !== "acknowledge_delivery") return { items: pages(looks++, acknowledged) };
      acknowledged.add(String(input["deliveryToken"]));
      return {};
    },
    drop: async () => undefined,
  } as unknown as EndpointClient;
  await Consumer.consume({
    name: "bob-agent",
    client,
    random: Plan.randomOf(1, "consumer test"),
    faults,
    journalFile: join(folder, "journal"),
    goesOn: () => looks < 12,
  });
  return faults.sentences;
};

const honest = deliveryOf("t1", "p1", "once");

test("an inbox that keeps its promises is no fault, however often it is read before the acknowledgment", async () => {
  expect(
    await consume((_, done) => [honest].filter(({ deliveryToken }) => !done.has(deliveryToken))),
  ).toEqual([]);
});

test.each([
  ["again after its acknowledgment", (): ReadonlyArray<Delivery> => [honest]],
  [
    "two payloads under t1",
    (call: number): ReadonlyArray<Delivery> => [call === 0 ? honest : deliveryOf("t1", "p1", "twice")],
  ],
  [
    "post p1 under a second token",
    (call: number): ReadonlyArray<Delivery> => (call === 0 ? [honest, deliveryOf("t2", "p1", "once")] : []),
  ],
])("%s is noticed", async (says, pages) => {
  expect((await consume(pages)).join("\n")).toContain(says);
});
