import { ConversationId, PostId } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterAll, beforeAll, expect } from "vitest";
import type {
  Evidence,
  Owner,
  RoundInput,
  RoundResult,
  WithdrawInput,
  WithdrawResult,
} from "../../src/operations/Owner.ts";
import * as RawHttp from "./RawHttp.ts";
import { failing, noOwner, ownerToken, startEndpoint, type TestEndpoint } from "./TestEndpoint.ts";

const conversationId = ConversationId.fromBytes(Buffer.alloc(32, 1));
const wished: RoundResult = {
  kind: "wished",
  conversationId,
  address: "agent:bob" as never,
  currentRound: 1,
  round: 3,
  again: false,
  wishesToJoin: 1,
  wishesNeeded: 2,
  said: true,
};

let owner: Owner = noOwner;
let endpoint: TestEndpoint;
beforeAll(async () => {
  endpoint = await startEndpoint({
    owner: {
      evidence: () => owner.evidence(),
      wishRound: (input) => owner.wishRound(input),
      withdraw: (input) => owner.withdraw(input),
      probe: (input) => owner.probe(input),
      webhookAttempts: () => owner.webhookAttempts(),
      testWebhook: () => owner.testWebhook(),
      metrics: () => owner.metrics(),
    },
  });
});
afterAll(() => endpoint.close());

const asOwner = { authorization: `Bearer ${ownerToken}` };
const get = (headers: RawHttp.Post["headers"] = asOwner, method = "GET") =>
  RawHttp.send(endpoint.port, { method, path: "/evidence", headers });
const postTo =
  (path: string) =>
  (body: string, headers: RawHttp.Post["headers"] = asOwner) =>
    RawHttp.send(endpoint.port, { method: "POST", path, headers, body });
const post = postTo("/rounds");
const postWithdrawal = postTo("/withdrawals");

verifies("MGT-16", "the owner reads the proofs and the logs that ended, and nobody else does", async () => {
  const evidence: Evidence = {
    equivocations: [
      {
        routerInstanceId: "rti_x",
        lane: "lane",
        sequence: 4,
        address: null,
        heads: [
          { laneHead: "one", signature: "a" },
          { laneHead: "two", signature: "b" },
        ],
      },
    ],
    formerRouters: [],
  };
  owner = { ...noOwner, evidence: () => evidence };
  const answer = await get();
  expect([answer.status, answer.body, answer.headers["cache-control"]]).toEqual([200, evidence, "no-store"]);
  for (const headers of [{}, { authorization: "Bearer wrong" }])
    expect((await get(headers)).status).toBe(401);
  const other = await get(asOwner, "POST");
  expect([other.status, other.headers.allow]).toEqual([405, "GET"]);
  owner = { ...noOwner, evidence: failing("persistence-failed") };
  const broken = await get();
  expect([broken.status, broken.body]).toEqual([503, { kind: "failed" }]);
});

verifies(
  ["HIS-137", "MGT-17"],
  "the owner wishes a round by address or by id, and is told what came of it",
  async () => {
    const asked: Array<RoundInput> = [];
    const results: ReadonlyArray<readonly [RoundResult, number]> = [
      [wished, 200],
      [{ kind: "unknown-conversation" }, 404],
    ];
    for (const [result, status] of results) {
      owner = {
        ...noOwner,
        wishRound: async (input) => {
          asked.push(input);
          return result;
        },
      };
      const answer = await post(JSON.stringify({ address: "agent:bob" }));
      expect([answer.status, answer.body]).toEqual([status, result]);
    }
    await post(JSON.stringify({ conversationId }));
    expect(asked).toEqual([...results.map(() => ({ address: "agent:bob" })), { conversationId }]);
    owner = { ...noOwner, wishRound: failing("not-registered") };
    const early = await post(JSON.stringify({ conversationId }));
    expect([early.status, early.body]).toEqual([409, { kind: "not-registered" }]);
  },
);

verifies("MGT-17", "anything else is no wish, and nobody but the owner has one", async () => {
  let wishes = 0;
  owner = {
    ...noOwner,
    wishRound: async () => {
      wishes += 1;
      return wished;
    },
  };
  const both = JSON.stringify({ address: "agent:bob", conversationId });
  for (const body of ["", "{", "{}", "[]", "null", '{"address":"bob"}', '{"conversationId":"cnv_"}', both]) {
    const answer = await post(body);
    expect([body, answer.status, answer.body]).toEqual([body, 400, { kind: "malformed" }]);
  }
  const good = JSON.stringify({ conversationId });
  for (const headers of [{}, { authorization: "Bearer wrong" }, { authorization: `Basic ${ownerToken}` }]) {
    expect((await post(good, headers)).status).toBe(401);
  }
  expect((await post(good, { ...asOwner, origin: "http://evil.com" })).status).toBe(403);
  const other = await RawHttp.send(endpoint.port, { method: "GET", path: "/rounds", headers: asOwner });
  expect([other.status, other.headers.allow]).toEqual([405, "POST"]);
  expect(wishes).toBe(0);
});

const postId = PostId.fromBytes(Buffer.alloc(32, 2));

verifies("MGT-18", "the owner withdraws a post by its id, and is told what came of it", async () => {
  const asked: Array<WithdrawInput> = [];
  const address = "agent:bob" as never;
  const results: ReadonlyArray<readonly [WithdrawResult, number]> = [
    [{ kind: "withdrawn", postId, address }, 200],
    [{ kind: "asked", postId, address, said: false, refusable: true }, 200],
    [{ kind: "recovering", postId, address }, 200],
    [{ kind: "ended", postId, address, outcome: "certified" }, 409],
    [{ kind: "unknown-post" }, 404],
  ];
  for (const [result, status] of results) {
    owner = {
      ...noOwner,
      withdraw: async (input) => {
        asked.push(input);
        return result;
      },
    };
    const answer = await postWithdrawal(JSON.stringify({ postId }));
    expect([answer.status, answer.body]).toEqual([status, result]);
  }
  expect(asked).toEqual(results.map(() => ({ postId })));
  for (const [reason, status, kind] of [
    ["not-registered", 409, "not-registered"],
    ["persistence-failed", 503, "failed"],
  ] as const) {
    owner = { ...noOwner, withdraw: failing(reason) };
    const answer = await postWithdrawal(JSON.stringify({ postId }));
    expect([answer.status, answer.body]).toEqual([status, { kind }]);
  }
});

verifies("MGT-18", "anything else withdraws nothing, and nobody but the owner does", async () => {
  let withdrawals = 0;
  owner = {
    ...noOwner,
    withdraw: async () => {
      withdrawals += 1;
      return { kind: "unknown-post" };
    },
  };
  const more = JSON.stringify({ postId, address: "agent:bob" });
  for (const body of ["", "{", "{}", "[]", "null", '"pst_"', '{"postId":"pst_"}', '{"postId":null}', more]) {
    const answer = await postWithdrawal(body);
    expect([body, answer.status, answer.body]).toEqual([body, 400, { kind: "malformed" }]);
  }
  const good = JSON.stringify({ postId });
  for (const headers of [{}, { authorization: "Bearer wrong" }, { authorization: `Basic ${ownerToken}` }]) {
    expect((await postWithdrawal(good, headers)).status).toBe(401);
  }
  expect((await postWithdrawal(good, { ...asOwner, origin: "http://evil.com" })).status).toBe(403);
  const other = await RawHttp.send(endpoint.port, { method: "GET", path: "/withdrawals", headers: asOwner });
  expect([other.status, other.headers.allow]).toEqual([405, "POST"]);
  expect(withdrawals).toBe(0);
});

verifies(
  "RUN-190",
  "a question is sent for the owner alone, to itself or to an agent that is named",
  async () => {
    const postProbe = postTo("/probes");
    const asked: Array<object> = [];
    const trips = [
      [{ kind: "returned", milliseconds: 12 }, 200],
      [{ kind: "silent" }, 200],
      [{ kind: "not-connected" }, 200],
      [{ kind: "no-conversation" }, 404],
    ] as const;
    for (const [trip, status] of trips) {
      owner = {
        ...noOwner,
        probe: async (input) => {
          asked.push(input);
          return trip;
        },
      };
      const answer = await postProbe('{"agentName":"bob"}');
      expect([answer.status, answer.body]).toEqual([status, trip]);
    }
    expect((await postProbe("{}")).status).toBe(404);
    expect(asked).toEqual([...trips.map(() => ({ agentName: "bob" })), {}]);
    for (const body of ['{"agentName":"B"}', '{"agentName":"bob","text":"x"}', "[]", ""]) {
      expect((await postProbe(body)).status).toBe(400);
    }
    expect((await postProbe("{}", {})).status).toBe(401);
    expect(asked).toHaveLength(trips.length + 1);
  },
);
