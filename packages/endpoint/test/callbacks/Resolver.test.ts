// Names against a real name server that answers as it likes.

import { expect, onTestFinished } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { resolverOver } from "../../src/callbacks/Resolver.ts";
import { startNameServer, type Answer, type NameServer } from "./NameServer.ts";
import { eventually, failed, localClient, never, receiverFor, requestTo, urlAt } from "./Receiver.ts";

const serverFor = async (answers: { readonly A: Answer; readonly AAAA: Answer }): Promise<NameServer> => {
  const server = await startNameServer((_name, type) => answers[type]);
  onTestFinished(server.close);
  return server;
};

const rows: ReadonlyArray<readonly [string, Answer, Answer, ReadonlyArray<string> | null]> = [
  ["both families", ["1.2.3.4", "1.2.3.5"], ["2606::1"], ["1.2.3.4", "1.2.3.5", "2606::1"]],
  ["IPv4 alone", ["1.2.3.4"], [], ["1.2.3.4"]],
  ["IPv6 alone", [], ["2606::1"], ["2606::1"]],
  ["IPv4 and a fault", ["1.2.3.4"], 2, ["1.2.3.4"]],
  ["a fault and IPv6", 2, ["2606::1"], ["2606::1"]],
  ["an address of this machine", ["127.0.0.1"], ["::ffff:127.0.0.1"], ["127.0.0.1", "::ffff:127.0.0.1"]],
  ["no address", [], [], null],
  ["no such name", 3, 3, null],
  ["a fault", 2, 2, null],
];

for (const [name, A, AAAA, addresses] of rows) {
  verifies("ING-64", `a name server that knows ${name}`, async () => {
    const server = await serverFor({ A, AAAA });
    const resolving = resolverOver([server.address])("receiver.example", never);
    if (addresses === null) await expect(resolving).rejects.toThrow();
    else expect(await resolving).toEqual(addresses);
    expect(new Set(server.queries)).toEqual(new Set(["receiver.example A", "receiver.example AAAA"]));
  });
}

verifies("ING-64", "the hosts file and search domains have no say, for localhost neither", async () => {
  const server = await serverFor({ A: ["93.184.216.34"], AAAA: [] });
  const resolve = resolverOver([server.address]);
  expect(await resolve("localhost", never)).toEqual(["93.184.216.34"]);
  expect(await resolve("intranet", never)).toEqual(["93.184.216.34"]);
  expect(new Set(server.queries.map((query) => query.split(" ")[0]))).toEqual(
    new Set(["localhost", "intranet"]),
  );
});

verifies(
  ["ING-64", "ING-65"],
  "a call goes where the name server of this moment says, and no further",
  async () => {
    const receiver = await receiverFor((_request, response) => void response.end());
    const answers: Array<Answer> = [["127.0.0.1"], ["127.0.0.1", "10.0.0.1"], ["127.0.0.1"], 3];
    const server = await startNameServer((_name, type) => (type === "A" ? (answers.shift() ?? 3) : []));
    onTestFinished(server.close);
    const client = localClient({ resolver: resolverOver([server.address]) });
    const outcomes: Array<unknown> = [];
    for (let i = 0; i < 4; i++) {
      const answer = await client.post(requestTo(urlAt(receiver)), never);
      outcomes.push(answer.kind === "answered" ? answer.status : answer.category);
    }
    expect(outcomes).toEqual([200, "address-refused", 200, "dns-failed"]);
    expect(receiver.connections()).toBe(2);
  },
);

verifies(
  ["ING-70", "ING-74"],
  "a name server that says nothing is a timeout, and its queries are taken back",
  async () => {
    const server = await serverFor({ A: "silence", AAAA: "silence" });
    const resolver = resolverOver([server.address]);
    let isOver = false;
    const client = localClient({
      deadlineMs: 200,
      resolver: (name, signal) => resolver(name, signal).finally(() => (isOver = true)),
    });
    expect(await client.post(requestTo("https://receiver.example/"), never)).toEqual(failed("timeout"));
    await eventually(() => isOver);
    await expect(resolver("receiver.example", AbortSignal.abort())).rejects.toThrow();
    expect(server.queries).toHaveLength(2);
  },
);
