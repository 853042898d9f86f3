// An owner's cause for a round, and what an endpoint has found out about its Router.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect } from "vitest";
import { until } from "@social-harness/testkit/network/Until";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, runHere, type Served } from "../Binary.ts";
import { joined, json, root, startDaemon } from "../Town.ts";

const ada = join(root, "ada");
const bob = join(root, "bob");
let daemons: ReadonlyArray<Served>;

beforeAll(async () => {
  await joined(ada, "ada-agent");
  await joined(bob, "bob-agent");
  daemons = await Promise.all([startDaemon(ada), startDaemon(bob)]);
});

afterAll(async () => {
  for (const daemon of daemons) expect(await daemon.stop()).toBe(0);
});

/** A wish is no round yet: what is posted before both are in it stands under the round before. */
const untilRound = (round: number): Promise<void> =>
  until(`both are in round ${round}`, () =>
    [ada, bob].every((folder) => {
      const store = new DatabaseSync(join(folder, "endpoint.sqlite"), { readOnly: true, timeout: 10_000 });
      const row = store
        .prepare("SELECT json_extract(state, '$.anchor.round') AS round FROM conversation")
        .get();
      store.close();
      return row?.["round"] === round;
    }),
  );

interface History {
  readonly records: ReadonlyArray<{ readonly routerAnchor: { readonly body?: { readonly round: number } } }>;
}

verifies(
  ["HIS-137", "RUN-45"],
  "an owner has a conversation go on in a new round, by address or by id",
  async () => {
    await json("send", "agent:bob-agent", "before", "--state", ada);
    const wished = await json("round", "wish", "agent:bob-agent", "--state", ada);
    expect(wished).toEqual({
      kind: "wished",
      conversationId: expect.stringMatching(/^cnv_/) as unknown,
      address: "agent:bob-agent",
      currentRound: 0,
      round: 1,
      again: false,
      wishesToJoin: 1,
      wishesNeeded: 2,
      said: true,
    });
    await untilRound(1);
    const id = wished["conversationId"] as string;
    const plain = await runHere(["round", "wish", id, "--state", bob]);
    expect([plain.code, plain.stdout]).toEqual([
      0,
      "Wished round 2 for agent:ada-agent.\n" +
        "It stands in round 1 here. Another begins once 2 members wish it: the others join the wish as soon as they hear it.\n" +
        "A wish that is not joined lapses while nothing is under way there.\n",
    ]);
    await untilRound(2);
    await json("send", "agent:bob-agent", "after", "--state", ada);
    const { records } = (await json("history", "agent:bob-agent", "--state", ada)) as unknown as History;
    expect(records.map(({ routerAnchor }) => routerAnchor.body?.round ?? 0)).toEqual([0, 2]);
  },
);

verifies(["RUN-02", "RUN-45"], "a conversation that is not there has no round", async () => {
  for (const conversation of ["agent:cyd-agent", `cnv_${"A".repeat(43)}`]) {
    const ended = await runHere(["round", "wish", conversation, "--state", ada, "--json"]);
    expect([ended.code, ended.stdout, failureOf(ended)]).toEqual([
      1,
      "",
      {
        reason: "unknown-conversation",
        message: "this endpoint has no such conversation",
        next: `List what there is: \`social-harness history --state ${ada}\`.`,
      },
    ]);
  }
});

verifies("RUN-46", "an endpoint whose Router was honest has no evidence against it", async () => {
  expect(await json("evidence", "--state", ada)).toEqual({ equivocations: [], formerRouters: [] });
  expect((await runHere(["evidence", "--state", ada])).stdout).toBe("The Router was caught at nothing.\n");
});
