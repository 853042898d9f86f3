import { expect } from "vitest";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { initial } from "@social-harness/protocol/conversation/State";
import * as Content from "@social-harness/protocol/history/Content";
import * as Record from "@social-harness/protocol/history/Record";
import { type ConversationId, PostId, RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import * as Chains from "@social-harness/testkit/Chains";
import { verifies } from "@social-harness/testkit/Verifies";
import * as ConversationRows from "../../src/conversations/ConversationRows.ts";
import { createConversations, emptyWork, type Work } from "../../src/conversations/Conversations.ts";
import * as Turns from "../../src/store/Turns.ts";
import { temporaryStore } from "../store/TemporaryStore.ts";

const now = 1_000_000;
const instance = RouterInstanceId.fromBytes(Buffer.alloc(16, 1));

/** An agent's conversations over a real store, connected and folded; `published` holds what each commit made current. */
const bench = () => {
  const db = temporaryStore();
  const [ann] = Chains.chain(["ann", "bob"], []).actors;
  if (ann === undefined) throw new Error("no actor");
  const errors: Array<string> = [];
  const published: Array<Work> = [];
  const conversations = createConversations({
    self: ann.card.agentId,
    signer: ann.signer,
    trust: Chains.trust,
    logger: (level, event, fields = {}) =>
      level === "error" && errors.push(`${event} ${String(fields["error"])}`),
    connection: () => ({ routerInstanceId: instance, folded: true }),
    admits: () => true,
  });
  let failure: Error | null = null;
  const turns = Turns.create<Work>(db, () => now, {
    initial: emptyWork,
    flush: (turn) => {
      conversations.flush(turn);
      if (failure !== null) throw failure;
    },
    committed: ({ state }) => {
      conversations.publish(state);
      published.push(state);
    },
  });
  const add = (peer: string): ConversationId => {
    const { members } = Chains.chain(["ann", peer], []);
    return db.transaction(() => {
      const { conversationId, membershipHash } = ConversationRows.create(
        db,
        members,
        ann.card.agentId,
      ).members;
      const intent: Record.PostIntent = {
        kind: "post_intent",
        conversationId,
        membershipHash,
        authorAgentId: ann.card.agentId,
        postId: PostId.fromBytes(Buffer.from(`post to ${peer}`.padEnd(32))),
        content: Content.ofText("hello"),
      };
      db.run(
        `INSERT INTO intent (conversation_id, post_id, operation_id, intent, intent_hash, created_at)
         VALUES (?, ?, 'opn', ?, ?, ?)`,
        conversationId,
        intent.postId,
        CanonicalJson.encode(intent as CanonicalJson.Json),
        Record.postIntentHashOf(intent),
        now,
      );
      return conversationId;
    });
  };
  return {
    db,
    conversations,
    turns,
    errors,
    published,
    add,
    fail: (error: Error | null) => {
      failure = error;
    },
  };
};

verifies(
  "RUN-64",
  "a defect in one conversation passes it over, leaves it as it was, and stops none of the others",
  async () => {
    const { db, conversations, turns, errors, published, add } = bench();
    const [first, broken, last] = [add("bob"), add("cyd"), add("dan")];
    const conversation = ConversationRows.load(db, Chains.trust, broken);
    if (conversation === null) throw new Error("no conversation");
    // An open proposal whose core is gone: no rule of the fold can make it.
    const state = {
      ...initial,
      proposal: { recordHash: `rch_${"A".repeat(43)}`, postId: `pst_${"A".repeat(43)}` },
      silence: { at: now - 1, intervalMs: 3_000 },
      open: [{ recordHash: `rch_${"A".repeat(43)}`, authorSignature: "x", action: {}, durability: {} }],
    } as unknown as typeof initial;
    db.transaction(() => ConversationRows.save(db, { ...conversation, state }));
    await turns.run((turn) => conversations.feedEach(turn, [first, broken, last], { kind: "tick" }));
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain("a conversation met a defect and is passed over");
    expect(published[0]?.sends.map(({ conversationId }) => conversationId)).toEqual([first, last]);
    expect(ConversationRows.load(db, Chains.trust, broken)?.state).toEqual(state);
    expect(ConversationRows.load(db, Chains.trust, last)?.state.proposal).not.toBeNull();
    // It is not tried again and again in the same moment.
    expect(conversations.due(now)).not.toContain(broken);
    expect(conversations.due(now + 60_000)).toContain(broken);
  },
);

verifies("RUN-52", "a commit that fails leaves every conversation in memory as it was", async () => {
  const { db, conversations, turns, published, add, fail } = bench();
  const id = add("bob");
  fail(new Error("no room"));
  await expect(turns.run((turn) => conversations.feed(turn, id, { kind: "submitted" }))).rejects.toThrow(
    "no room",
  );
  expect(published).toEqual([]);
  expect(conversations.nextWake()).toBeNull();
  fail(null);
  await turns.run((turn) => {
    expect(conversations.get(turn, id)?.state).toEqual(initial);
    conversations.feed(turn, id, { kind: "submitted" });
  });
  expect(published[0]?.sends).toHaveLength(1);
  expect(ConversationRows.load(db, Chains.trust, id)?.state.proposal).not.toBeNull();
  const rows = (table: string): unknown => db.get(`SELECT count(*) AS rows FROM ${table}`)?.["rows"];
  expect(["own_vote", "anchor", "candidate"].map(rows)).toEqual([1, 1, 1]);
});

verifies("RUN-51", "work that fails takes the conversation that it made with it", async () => {
  const { db, conversations, turns } = bench();
  const { members } = Chains.chain(["ann", "eve"], []);
  await expect(
    turns.run((turn) => {
      conversations.create(turn, members);
      throw new Error("after all not");
    }),
  ).rejects.toThrow("after all not");
  await turns.run((turn) => {
    expect(conversations.get(turn, members.conversationId)).toBeNull();
    expect(conversations.create(turn, members).address).toBe("agent:eve");
    expect(conversations.get(turn, members.conversationId)?.members.n).toBe(2);
  });
  expect(ConversationRows.allIds(db)).toEqual([members.conversationId]);
});

verifies("HIS-36", "work that a turn has just brought is active in that turn already", async () => {
  const { conversations, turns, add } = bench();
  const [bob, cyd] = [add("bob"), add("cyd")];
  await turns.run((turn) => {
    expect(conversations.active(turn)).toEqual([]);
    conversations.feed(turn, bob, { kind: "submitted" });
    expect(conversations.active(turn)).toEqual([bob]);
  });
  await turns.run((turn) => {
    conversations.feed(turn, cyd, { kind: "submitted" });
    expect([...conversations.active(turn)].sort()).toEqual([bob, cyd].sort());
  });
});
