import { copyFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import * as DiskOracle from "@social-harness/testkit/network/DiskOracle";
import type { NetworkAgent } from "@social-harness/testkit/network/NetworkAgent";
import { type TestNetwork, testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";

const names = ["ann", "bob", "cyd"] as const;

const written = async (): Promise<TestNetwork> => {
  const network = await testNetwork();
  const [ann, bob, cyd] = await network.openAll(names);
  await ann.send("agent:bob", "one");
  await bob.send("agent:ann", "two");
  for (const agent of [ann, bob, cyd]) await agent.send(`group:${names.join()}`, `from ${agent.name}`);
  await network.router.stop();
  network.router.replaceLog(null);
  await network.router.start();
  const isNew = ({ db }: NetworkAgent): boolean =>
    db.get("SELECT 1 FROM conversation WHERE json_extract(state, '$.anchor.round') = 0") === undefined;
  await until("all conversations are in their second round", () => [ann, bob, cyd].every(isNew));
  expect(await network.judge(names)).toEqual({
    problems: [],
    conversations: 2,
    records: 2 * 2 + 3 * 3,
    items: 2 + 3 * 2,
    ownVotes: 2 * 2 * 2 + 3 * 3 * 2,
  });
  return network;
};

const problemsOf = (network: TestNetwork, of: string, sql: string, quiet = true): ReadonlyArray<string> => {
  const path = network.storeOf(of);
  copyFileSync(path, `${path}.whole`);
  const sqlite = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  sqlite.exec(sql);
  sqlite.close();
  const { problems } = DiskOracle.judge(names.map(network.storeOf), { quiet });
  copyFileSync(`${path}.whole`, path);
  return problems;
};

verifies(
  ["HIS-80", "HIS-82", "HIS-83", "ING-12"],
  "whatever should never be on a disk is said, about the store where it is",
  async () => {
    const network = await written();
    const cases: ReadonlyArray<readonly [string, string, RegExp]> = [
      [
        "a second vote in a slot",
        `DROP INDEX own_vote_slot; INSERT INTO own_vote SELECT conversation_id, kind, height, round, 'rch_other', anchor_hash, in_proposal, void, signature FROM own_vote WHERE in_proposal = 0 LIMIT 1`,
        /ann: two \w+ votes in one slot/,
      ],
      [
        "a vote inside a group's proposal",
        `UPDATE own_vote SET in_proposal = 1 WHERE conversation_id = (SELECT conversation_id FROM conversation WHERE address LIKE 'group:%') AND height = 1`,
        /ann: a vote travelled inside a proposal to a group/,
      ],
      [
        "a forgotten vote",
        "DELETE FROM own_vote WHERE height = 1",
        /holds a \w+ vote of agt_\S+ that its signer's disk does not have/,
      ],
      [
        "a changed record",
        "UPDATE record SET core = replace(core, 'one', 'own') WHERE height = 0",
        /ann: height 0 of cnv_\S+ does not verify/,
      ],
      ["a missing item", "DELETE FROM inbox WHERE sequence = 1", /ann: \d items for \d remote posts/],
      [
        "a changed item",
        "UPDATE inbox SET item = replace(item, 'two', 'tow')",
        /ann: item 0 of cnv_\S+ says something else/,
      ],
      [
        "items out of order",
        "UPDATE inbox SET sequence = 100 - sequence",
        /is not the remote post that stands there/,
      ],
      [
        "a pending post",
        "INSERT INTO pending (conversation_id, record_hash) SELECT conversation_id, record_hash FROM record LIMIT 1",
        /ann: 1 posts are pending/,
      ],
      [
        "an intent without an end",
        "UPDATE intent SET outcome = NULL WHERE sequence = 1",
        /ann: 1 intents have not ended/,
      ],
      [
        "a post that was not certified",
        "UPDATE intent SET outcome = 'outcome-unknown' WHERE sequence = 1",
        /certified intents of cnv_\S+ are not its own posts/,
      ],
      [
        "a forgotten anchor",
        "DELETE FROM anchor WHERE anchor LIKE '%genesis_anchor%'",
        /ann: height 0 of cnv_\S+ stands under an anchor that is not there/,
      ],
      [
        "two anchors of one round",
        `UPDATE anchor SET anchor_hash = 'anc_other' WHERE anchor LIKE '%completed_reanchor%'`,
        /\w+ accepted another anchor in round 1 of cnv_/,
      ],
      ["a shorter chain", "DELETE FROM record WHERE height = 2", /ann holds 2 of 3 records/],
    ];
    for (const [what, sql, problem] of cases) {
      expect([what, problemsOf(network, "ann", sql).join("\n")]).toEqual([
        what,
        expect.stringMatching(problem),
      ]);
    }
  },
);

verifies(
  ["HIS-80", "HIS-157"],
  "a void vote frees its slot, where its record can have been refused and nobody holds it",
  async () => {
    const network = await written();
    // Ann's lock vote at height 1 of the group becomes one for a record that nobody else knows, and a second one stands beside it.
    const where = `kind = 'action' AND height = 1 AND conversation_id = (SELECT conversation_id FROM conversation WHERE address LIKE 'group:%')`;
    const other = (kind: string, isVoid: number): string =>
      `INSERT INTO own_vote SELECT conversation_id, '${kind}', height, round, 'rch_other', anchor_hash, in_proposal, ${isVoid}, signature FROM own_vote WHERE ${where};`;
    expect(problemsOf(network, "ann", other("action", 1))).toEqual([]);
    const drop = "DROP INDEX own_vote_slot;";
    expect(problemsOf(network, "ann", drop + other("action", 0)).join("\n")).toContain(
      "two action votes in one slot",
    );
    expect(
      problemsOf(network, "ann", drop + other("action", 1) + other("durability", 0)).join("\n"),
    ).toContain("rch_other is called void, and somebody voted that it is durable");
    const certified = problemsOf(network, "ann", `UPDATE own_vote SET void = 1 WHERE ${where}`).join("\n");
    for (const said of [
      "too few members can have refused it",
      "somebody voted that it is durable",
      "it is certified",
    ]) {
      expect(certified).toContain(`is called void, and ${said}`);
    }
  },
);

verifies("HIS-80", "while posts are under way a chain may be shorter, but never another one", async () => {
  const network = await written();
  const shorter = `DELETE FROM inbox WHERE record_hash IN (SELECT record_hash FROM record WHERE height = 2);
    DELETE FROM record WHERE height = 2; UPDATE intent SET outcome = NULL`;
  expect(
    problemsOf(network, "bob", shorter, false).filter((one) => !one.includes("certified intents")),
  ).toEqual([]);
  const other = "UPDATE record SET record_hash = 'rch_other' WHERE height = 2";
  expect(problemsOf(network, "bob", other, false).join("\n")).toContain(
    "bob holds another record than others",
  );
});

verifies(
  ["HIS-83", "RUN-70"],
  "what an agent signed and said on a disk that it no longer has counts with the disk that it has",
  async () => {
    const network = await testNetwork();
    const [ann, bob] = await network.openAll(["ann", "bob"]);
    await ann.send("agent:bob", "one");
    await ann.send("agent:bob", "two");
    await ann.close();
    const former = network.keepStore("ann", "former");
    const again = await network.open("ann");
    await again.send("agent:bob", "three");
    await bob.untilItems(3);
    expect((await network.judge(["ann", "bob"], [former])).problems).toEqual([]);
    const stores = ["ann", "bob"].map(network.storeOf);
    const judged = (sql: string): ReadonlyArray<string> => {
      const changed = `${former}.changed`;
      copyFileSync(former, changed);
      const sqlite = new DatabaseSync(changed, { enableForeignKeyConstraints: false });
      sqlite.exec(sql);
      sqlite.close();
      return DiskOracle.judge(stores, { quiet: true, former: [changed] }).problems;
    };
    expect(judged("UPDATE own_vote SET record_hash = 'rch_other' WHERE height = 1")).toEqual([
      expect.stringMatching(/ann: two \w+ votes in one slot/),
      expect.stringMatching(/ann: two \w+ votes in one slot/),
    ]);
    expect(judged("UPDATE intent SET sequence = 9 WHERE sequence = 1")).toEqual([
      expect.stringMatching(/ann: certified intents of cnv_\S+ are not its own posts in their order/),
    ]);
    expect(judged("UPDATE record SET record_hash = 'rch_other' WHERE height = 1")).toContainEqual(
      expect.stringMatching(/holds another record than others|does not verify/),
    );
    const alone = new DatabaseSync(network.storeOf("ann"), { enableForeignKeyConstraints: false });
    alone.exec("DELETE FROM intent WHERE sequence = 3");
    alone.close();
    expect(judged("SELECT 1")).toContainEqual(expect.stringMatching(/an own post of cnv_\S+ is of no call/));
  },
);
