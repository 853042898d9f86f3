// A process that dies before and after every commit, every question to the checker and every delivery, one death a run: from the
// commit of a post to its retirement nothing is lost, doubled, reordered or judged otherwise.

import * as Content from "@social-harness/protocol/history/Content";
import { eventIdOf } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import { answered as judged, checker, textOf } from "../firewall/WalledStore.ts";
import { answered, type Death } from "../webhooks/WebhookBench.ts";
import * as PipelineBench from "./PipelineBench.ts";

interface Reception {
  readonly id: string;
  readonly body: string;
  readonly taken: boolean;
}

interface Run {
  readonly steps: ReadonlyArray<string>;
  readonly died: boolean;
  readonly got: ReadonlyArray<Reception>;
  /** The rows at the end: text, guidance, event id. */
  readonly inbox: ReadonlyArray<readonly [text: string, guidance: string | null, id: string]>;
  readonly held: ReadonlyArray<string>;
}

const rules = {
  rules: [
    { when: { text: "plain" }, verdict: "allow" },
    { when: { text: "never" }, verdict: "hold" },
  ],
  checker,
};
const guidance = "think twice";

const story = async (death?: Death): Promise<Run> => {
  const got: Array<Reception> = [];
  let failures = 2;
  const pipeline = PipelineBench.create({
    rules,
    ...(death === undefined ? {} : { death }),
    check: ({ body }) => {
      const { item } = JSON.parse(Buffer.from(body).toString("utf8")) as { readonly item: never };
      if (textOf(item).includes("money")) return judged({ verdict: "hold", reason: "money" });
      return judged({ verdict: "allow", guidance });
    },
    deliver: ({ headers, body }) => {
      const text = Buffer.from(body).toString("utf8");
      const message = JSON.parse(text) as { readonly type?: string; readonly challenge?: string };
      if (message.type === "verification")
        return {
          ...answered(200),
          body: Buffer.from(JSON.stringify({ challenge: message.challenge })),
        } as never;
      const taken = got.length === 0 || failures-- <= 0;
      got.push({ id: String(headers["webhook-id"]), body: text, taken });
      return answered(taken ? 200 : 503);
    },
  });
  const { post } = pipeline;
  const bob = pipeline.conversation("bob");
  const group = pipeline.conversation("carol", "dan");
  // What a commit leaves whose turn did not come to classify it.
  bob.post("bob", Content.ofText("bob 0 left pending"));
  await pipeline.start();
  await post(bob, "bob", "bob 1 before there is a webhook");
  await pipeline.subscribe();
  await post(group, "carol", "group 1 plain");
  await post(bob, "bob", "bob 2 about money");
  await post(bob, "bob", "bob 3 plain");
  await post(group, "dan", "group 2 never");
  await pipeline.drain();
  await post(bob, "bob", "bob 4 again");
  await post(group, "alice", "an own post");
  await post(group, "dan", "group 3 plain");
  await pipeline.drain();

  const db = pipeline.db();
  const inbox = db
    .all("SELECT delivery_token, item, guidance FROM inbox ORDER BY sequence")
    .map(
      (row) =>
        [
          textOf(JSON.parse(String(row["item"])) as never),
          row["guidance"] as string | null,
          eventIdOf(row["delivery_token"] as never),
        ] as const,
    );
  const held = db
    .all("SELECT item, reason FROM firewall_hold ORDER BY sequence")
    .map((row) => `${textOf(JSON.parse(String(row["item"])) as never)}: ${String(row["reason"])}`);
  expect(db.get("SELECT count(*) AS due FROM webhook_occurrence")?.["due"]).toBe(0);
  await pipeline.close();
  return { steps: pipeline.steps, died: pipeline.died(), got, inbox, held };
};

/** Both conversations in the order of their posts; between the two nothing is promised. */
const admitted = {
  bob: ["bob 0 left pending", "bob 1 before there is a webhook", "bob 3 plain", "bob 4 again"],
  group: ["group 1 plain", "group 3 plain"],
};
const guided = ["bob 0 left pending", "bob 1 before there is a webhook", "bob 4 again"];
const heldInTheEnd = ["bob 2 about money: checker", "group 2 never: rule"];

/** Steps of the way by what they change; each has a death before and after it, and turns also join some of them. */
const way: Readonly<Record<string, RegExp>> = {
  "commit, classified and queued in the same turn": /^commit record queue$/,
  "classification of what an earlier life left": /^commit pending queue$/,
  question: /^question$/,
  "judged and admitted": /^commit queue inbox$/,
  "judged and held": /^commit.* hold/,
  offer: /^commit due$/,
  attempt: /^delivery$/,
  failure: /^commit failure$/,
  "receipt, retirement and the next offer": /^commit due receipt$/,
};

const check = ({ got, inbox, held }: Run, said: string): number => {
  const texts = inbox.map(([text]) => text);
  for (const [conversation, owed] of Object.entries(admitted))
    expect(
      texts.filter((text) => text.startsWith(conversation)),
      said,
    ).toEqual(owed);
  expect(texts, said).toHaveLength(6);
  for (const [text, beside] of inbox) expect(beside, said).toBe(guided.includes(text) ? guidance : null);
  expect(held.toSorted(), said).toEqual(heldInTheEnd);
  const ids = inbox.map(([, , id]) => id);
  const taken = got.filter((reception) => reception.taken).map(({ id }) => id);
  expect([...new Set(taken)], said).toEqual(ids);
  for (const id of ids) {
    const bodies = got.filter((other) => other.id === id).map(({ body }) => body);
    expect(new Set(bodies).size, said).toBe(1);
  }
  return taken.length - ids.length;
};

verifies(
  ["ING-170", "ING-171", "ING-09", "ING-145", "ING-103"],
  "wherever the process dies between a commit and a receipt, each post is received or held, once, in order, with one body",
  async () => {
    const undisturbed = await story();
    expect(check(undisturbed, "undisturbed")).toBe(0);
    for (const [name, words] of Object.entries(way))
      expect(
        undisturbed.steps.some((step) => words.test(step)),
        name,
      ).toBe(true);
    let repeated = 0;
    let deaths = 0;
    for (const [index, words] of undisturbed.steps.entries()) {
      for (const when of ["before", "after"] as const) {
        const run = await story({ step: index + 1, when });
        const said = `killed ${when} step ${index + 1}, a ${words}`;
        expect(run.died, said).toBe(true);
        deaths += 1;
        const extra = check(run, said);
        // One death can lose one receipt.
        expect(extra, said).toBeLessThanOrEqual(1);
        repeated += extra;
      }
    }
    expect(deaths).toBeGreaterThan(40);
    // Between a receiver's 2xx and its commit there is nothing that could prevent it.
    expect(repeated).toBeGreaterThan(0);
  },
  120_000,
);
