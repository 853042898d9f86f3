// The firewall against what it must be, over random sequences of posts, answers of a checker, changes of its file and kills: in
// each conversation a list of what arrived, of which a beginning is settled and the rest is queued.

import { setImmediate } from "node:timers/promises";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { expect } from "vitest";
import * as Inbox from "../../src/ingress/Inbox.ts";
import { answered, checker, textOf, walled, type Walled } from "./WalledStore.ts";

const peers = ["bob", "carol", "dan"] as const;

type Answer = "allow" | "guide" | "hold" | "garbage" | "refused";
type File = "checked" | "blocked" | "broken" | "absent";

type Step =
  | { readonly kind: "post"; readonly peer: number }
  | { readonly kind: "fail"; readonly peer: number }
  | { readonly kind: "answer"; readonly which: number; readonly answer: Answer }
  | { readonly kind: "file"; readonly file: File }
  | { readonly kind: "wait"; readonly immediates: number }
  | { readonly kind: "kill" };

/** What has arrived in each conversation, in order; failures by a text that is the same for all of a conversation. */
interface Book {
  readonly arrived: ReadonlyArray<Array<string>>;
  /** What each token was seen to name. */
  readonly tokens: Map<string, string>;
  posts: number;
  files: number;
  file: File;
}

const bodies: Readonly<Record<Answer, (text: string) => ReturnType<typeof answered>>> = {
  allow: () => answered({ verdict: "allow" }),
  guide: (text) => answered({ verdict: "allow", guidance: `about ${text}` }),
  hold: (text) => answered({ verdict: "hold", reason: `no ${text}` }),
  garbage: () => answered("allow"),
  refused: () => answered("", 500),
};

const fileOf = (file: File, number: number): object | string | null => {
  // The number makes each file another one, so that each counts as a change.
  const rules = [{ when: { text: `^${number}$` }, verdict: "hold" }];
  switch (file) {
    case "checked":
      return { rules, checker };
    case "blocked":
      return { rules: [...rules, { when: { from: ["bob"] }, verdict: "hold" }], checker };
    case "broken":
      return `{ ${number}`;
    case "absent":
      return null;
  }
};

const conversationsOf = (wall: Walled) => peers.map((peer) => wall.conversation(peer));

/** Asks the laws of what is in the store now. */
const ask = (wall: Walled, book: Book, ids: ReadonlyArray<string>): void => {
  const { db } = wall.store;
  const texts = (table: string, id: string): ReadonlyArray<string> =>
    db
      .all(`SELECT item FROM ${table} WHERE conversation_id = ? ORDER BY sequence`, id)
      .map((row) => textOf(JSON.parse(String(row["item"])) as never));
  const failures = wall.inbox().filter((text) => text.startsWith("failed"));
  for (const [peer, arrived] of book.arrived.entries()) {
    const id = ids[peer] as string;
    const queued = texts("firewall_queue", id);
    const told = failures.filter((text) => text === `failed agent:${peers[peer]}`).length;
    // What is queued is the end of what arrived, in its order.
    expect(queued).toEqual(arrived.slice(arrived.length - queued.length));
    const settled = arrived.slice(0, arrived.length - queued.length);
    const posts = settled.filter((text) => !text.startsWith("failed"));
    expect(told).toBe(settled.length - posts.length);
    // The rest is admitted or held, each once, and each of the two in order.
    const inbox = texts("inbox", id);
    const held = texts("firewall_hold", id);
    expect(inbox).toEqual(posts.filter((text) => inbox.includes(text)));
    expect(held).toEqual(posts.filter((text) => held.includes(text)));
    expect([...inbox, ...held].toSorted()).toEqual(posts.toSorted());
    // One question a conversation, about the first that waits, after it was committed.
    const asked = [...wall.questions].map(({ text }) => text).filter((text) => arrived.includes(text));
    expect(asked.length).toBeLessThanOrEqual(1);
    if (asked.length === 1) expect(asked[0]).toBe(queued[0]);
  }
  // A token names for ever what it named when it was first seen, and no text has two.
  const rows = db.all("SELECT delivery_token, item, guidance FROM inbox");
  for (const { delivery_token: token, item, guidance } of rows) {
    const bound = JSON.stringify([item, guidance]);
    const known = book.tokens.get(String(token));
    if (known !== undefined) expect(bound).toBe(known);
    book.tokens.set(String(token), bound);
    expect(CanonicalJson.encode(JSON.parse(String(item)) as never)).toBe(item);
    expect(String(item)).not.toContain("about ");
    const text = textOf(JSON.parse(String(item)) as never);
    if (guidance !== null) expect(guidance).toBe(`about ${text}`);
  }
  expect(book.tokens.size).toBe(rows.length);
  expect(Inbox.unreadCount(db)).toBe(rows.length);
};

const run = async (
  wall: Walled,
  book: Book,
  step: Step,
  conversations: ReturnType<typeof conversationsOf>,
) => {
  switch (step.kind) {
    case "post": {
      const text = `post ${book.posts++}`;
      book.arrived[step.peer]?.push(text);
      return wall.post(conversations[step.peer] as never, peers[step.peer] as string, text);
    }
    case "fail":
      book.arrived[step.peer]?.push(`failed agent:${peers[step.peer]}`);
      return wall.fail(conversations[step.peer] as never);
    case "answer": {
      const open = [...wall.questions];
      const question = open[step.which % open.length];
      return question?.answer(bodies[step.answer](question.text));
    }
    case "file":
      if (step.file === "absent" && book.file === "absent") return;
      book.file = step.file;
      return wall.rules(fileOf(step.file, book.files++));
    case "wait":
      for (let i = 0; i < step.immediates; i++) await setImmediate();
      return;
    case "kill":
      return wall.restart();
  }
};

const steps: fc.Arbitrary<ReadonlyArray<Step>> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant("post" as const), peer: fc.nat({ max: 2 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("fail" as const), peer: fc.nat({ max: 2 }) }) },
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constant("answer" as const),
        which: fc.nat({ max: 2 }),
        answer: fc.constantFrom<Answer>("allow", "allow", "guide", "hold", "garbage", "refused"),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("file" as const),
        file: fc.constantFrom<File>("checked", "checked", "blocked", "broken", "absent"),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant("wait" as const), immediates: fc.nat({ max: 6 }) }),
    },
    { weight: 2, arbitrary: fc.constant({ kind: "kill" as const }) },
  ),
  { minLength: 5, maxLength: 60 },
);

verifies(
  ["ING-138", "ING-139", "ING-140", "ING-141", "ING-142", "ING-143", "ING-144", "ING-145", "ING-146"],
  "in any order of posts, answers, changes and kills nothing is lost, doubled, reordered or asked too soon",
  async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.constantFrom<File>("checked", "absent"), async (list, first) => {
        const book: Book = {
          arrived: peers.map(() => []),
          tokens: new Map(),
          posts: 0,
          files: 1,
          file: first,
        };
        const wall = await walled(fileOf(first, 0));
        const conversations = conversationsOf(wall);
        const ids = conversations.map(({ members }) => members.conversationId);
        for (const step of list) {
          await run(wall, book, step, conversations);
          ask(wall, book, ids);
        }
        // In the end everything gets an answer, and then nothing is left.
        for (;;) {
          await wall.rest();
          ask(wall, book, ids);
          if (wall.questions.size === 0) break;
          for (const question of wall.questions) question.answer(bodies.allow(question.text));
        }
        expect(wall.store.db.get("SELECT count(*) AS n FROM firewall_queue")?.["n"]).toBe(0);
        expect(wall.log.filter(({ event }) => event.includes("could not be judged"))).toEqual([]);
        await wall.close();
      }),
      { numRuns: 60 },
    );
  },
);
