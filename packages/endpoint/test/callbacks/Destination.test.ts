// Where a connection goes, and that it goes nowhere else: names that change, sockets that go astray.

import { connect as tcpConnect } from "node:net";
import { expect, onTestFinished } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { makeCallbackClient } from "../../src/callbacks/CallbackClient.ts";
import { systemConnect } from "../../src/callbacks/Dial.ts";
import * as IpAddress from "../../src/callbacks/IpAddress.ts";
import {
  authority,
  eventually,
  failed,
  localClient,
  lookup,
  loopback,
  network,
  never,
  receiverFor,
  requestTo,
  startReceiver,
  urlAt,
} from "./Receiver.ts";

verifies(
  ["ING-64", "ING-66"],
  "real listeners on this machine's addresses hear nothing of a client without exceptions",
  async () => {
    const receivers = [await receiverFor((_request, response) => void response.end())];
    const v6 = await startReceiver((_request, response) => void response.end(), { host: "::1" }).catch(
      () => null,
    );
    if (v6 !== null) {
      onTestFinished(v6.close);
      receivers.push(v6);
    }
    const answers = [loopback, "::1", "::ffff:127.0.0.1", "0.0.0.0", "::"];
    for (const { port } of receivers) {
      for (const address of answers) {
        const client = makeCallbackClient({
          clock: () => 0,
          test: null,
          resolver: lookup("93.184.216.34", address),
        });
        const literal = address.includes(":") ? `[${address}]` : address;
        for (const host of ["receiver.example", literal]) {
          expect(await client.post(requestTo(`https://${host}:${port}/`), never)).toEqual(
            failed("address-refused"),
          );
        }
      }
    }
    expect(receivers.map(({ connections }) => connections())).toEqual(receivers.map(() => 0));
  },
);

verifies(
  "ING-65",
  "a name that turned to a private address after its verification is refused at delivery (C28)",
  async () => {
    const receiver = await receiverFor((_request, response) => void response.end(), { named: true });
    const { asked, connect } = network(receiver.port);
    const answers = [["93.184.216.34"], [loopback], ["93.184.216.34", "169.254.169.254"], ["93.184.216.34"]];
    const client = makeCallbackClient({
      clock: () => 0,
      test: { addresses: [], certificateAuthority: authority.certificate },
      resolver: () => Promise.resolve(answers.shift() ?? []),
      connect,
    });
    const outcomes = [];
    for (let i = 0; i < 4; i++) {
      const answer = await client.post(requestTo("https://receiver.example/"), never);
      outcomes.push(answer.kind === "answered" ? answer.status : answer.category);
    }
    expect(outcomes).toEqual([200, "address-refused", "address-refused", 200]);
    expect(asked).toEqual([["93.184.216.34"], ["93.184.216.34"]]);
    expect(receiver.connections()).toBe(2);
  },
);

verifies(
  "ING-65",
  "the name is asked for once for each call, and the system's own lookup never",
  async () => {
    const receiver = await receiverFor((_request, response) => void response.end(), { named: true });
    let asked = 0;
    const client = localClient({
      // No name server knows this name, so that a second lookup would fail.
      resolver: () => {
        asked += 1;
        return Promise.resolve([loopback]);
      },
      connect: systemConnect,
    });
    for (let i = 1; i <= 3; i++) {
      expect(await client.post(requestTo(urlAt(receiver, "no-such-name.invalid")), never)).toMatchObject({
        status: 200,
      });
      expect([asked, receiver.connections()]).toEqual([i, i]);
    }
  },
);

verifies("ING-65", "of several addresses one that answers is enough", async () => {
  const receiver = await receiverFor((_request, response) => void response.end());
  const addresses = ["127.0.0.9", loopback];
  const client = localClient({
    resolver: lookup(...addresses),
    test: {
      addresses: addresses.flatMap((text) => IpAddress.parse(text) ?? []),
      certificateAuthority: authority.certificate,
    },
  });
  expect(await client.post(requestTo(urlAt(receiver)), never)).toMatchObject({
    kind: "answered",
    status: 200,
  });
});

verifies(
  "ING-66",
  "a socket that arrives at another address than a checked one is dropped before a byte is sent",
  async () => {
    const receiver = await receiverFor((_request, response) => void response.end());
    const elsewhere = (address: string) =>
      localClient({
        resolver: lookup(address),
        connect: () => tcpConnect({ host: loopback, port: receiver.port }),
      });
    // The other end is private and not allowed, or is allowed and not what was asked for.
    const strict = makeCallbackClient({
      clock: () => 0,
      test: null,
      resolver: lookup("93.184.216.34"),
      connect: () => tcpConnect({ host: loopback, port: receiver.port }),
    });
    for (const client of [strict, elsewhere("93.184.216.34")]) {
      expect(await client.post(requestTo(urlAt(receiver)), never)).toEqual(failed("address-refused"));
    }
    await eventually(() => receiver.open() === 0);
    expect([receiver.connections(), receiver.bytesRead()]).toEqual([2, 0]);
  },
);
