// The corpus against the real client: what is refused is never connected to, and what is public keeps its name.

import { afterAll, beforeAll, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { makeCallbackClient } from "../../src/callbacks/CallbackClient.ts";
import * as CallbackUrl from "../../src/callbacks/CallbackUrl.ts";
import * as IpAddress from "../../src/callbacks/IpAddress.ts";
import { corpus, type Outcome, type Row } from "./Corpus.ts";
import { authority, never, network, startReceiver, type Receiver } from "./Receiver.ts";

const literals = corpus.flatMap(({ url, outcome }) => {
  const host = outcome === "connected" ? new URL(url).hostname.replace(/^\[|\]$/g, "") : "";
  return IpAddress.parse(host) === null ? [] : [host];
});

let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver((_request, response) => void response.end(), {
    issued: authority.issue(literals),
    named: true,
  });
});
afterAll(() => receiver.close());

/** What became of one row, and what the network and the receiver saw of it. */
const run = async ({ url, answers }: Row) => {
  const parsed = CallbackUrl.parse(url);
  const { asked, connect } = network(receiver.port);
  const names: Array<string> = [];
  const before = receiver.requests.length;
  const connectionsBefore = receiver.connections();
  const outcome = async (): Promise<Outcome | "another"> => {
    if (typeof parsed !== "string") return `no URL: ${parsed.reason}`;
    const client = makeCallbackClient({
      clock: () => 0,
      // No address more than everybody has, only the authority of the receiver's certificates.
      test: { addresses: [], certificateAuthority: authority.certificate },
      connect,
      resolver: (name) => {
        names.push(name);
        return Promise.resolve(answers ?? []);
      },
    });
    const answer = await client.post({ url: parsed, headers: {}, body: Buffer.from("{}") }, never);
    await client.close();
    if (answer.kind === "answered") return "connected";
    const { category } = answer;
    return category === "address-refused" || category === "dns-failed" ? category : "another";
  };
  return {
    outcome: await outcome(),
    asked,
    names,
    requests: receiver.requests.slice(before),
    connections: receiver.connections() - connectionsBefore,
  };
};

verifies(
  ["ING-60", "ING-62"],
  "the corpus has a row for each spelling that others fell for (C28, C32)",
  () => {
    expect(corpus.length).toBeGreaterThanOrEqual(120);
    expect(new Set(corpus.map(({ url, answers }) => `${url} ${String(answers)}`)).size).toBe(corpus.length);
  },
);

for (const row of corpus.filter(({ outcome }) => outcome.startsWith("no URL"))) {
  verifies("ING-60", `${JSON.stringify(row.url.slice(0, 60))} is ${row.outcome}`, () => {
    const parsed = CallbackUrl.parse(row.url);
    expect(typeof parsed === "string" ? "a URL" : `no URL: ${parsed.reason}`).toBe(row.outcome);
  });
}

for (const row of corpus.filter(({ outcome }) => outcome === "address-refused" || outcome === "dns-failed")) {
  const where = row.answers === null ? "" : ` at ${row.answers.join(", ")}`;
  verifies(
    ["ING-62", "ING-63", "ING-64"],
    `${row.url}${where} is ${row.outcome} and never connected to`,
    async () => {
      const { outcome, asked, names, connections } = await run(row);
      expect(outcome).toBe(row.outcome);
      expect(asked).toEqual([]);
      expect(connections).toBe(0);
      expect(names).toHaveLength(row.answers === null ? 0 : 1);
    },
  );
}

for (const row of corpus.filter(({ outcome }) => outcome === "connected")) {
  const where = row.answers === null ? "" : ` at ${row.answers.join(", ")}`;
  verifies(["ING-64", "ING-67"], `${row.url}${where} is connected to under its own name`, async () => {
    const { outcome, asked, names, requests } = await run(row);
    const canonical = new URL(CallbackUrl.parse(row.url) as string);
    expect(outcome).toBe("connected");
    // For a literal the certificate is checked for the address, and a server name is not said.
    const name = row.answers === null ? null : canonical.hostname;
    expect(requests.map(({ serverName, host }) => ({ serverName, host }))).toEqual([
      { serverName: name, host: canonical.host },
    ]);
    expect(asked).toEqual([row.answers ?? [canonical.hostname.replace(/^\[|\]$/g, "")]]);
    expect(names).toEqual(name === null ? [] : [name]);
  });
}
