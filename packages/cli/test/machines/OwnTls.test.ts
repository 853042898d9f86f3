// A network with TLS of its own, and an endpoint on another machine behind a bad line. What happens to that line and to the
// machine is what happens to laptops: a pulled cable, a lid that is closed, another wireless network.

import { setTimeout as sleep } from "node:timers/promises";
import { verifies } from "@social-harness/testkit/Verifies";
import { afterEach, expect } from "vitest";
import * as Machines from "./Machines.ts";
import * as Pair from "./Pair.ts";

const badLine = { delayMs: 80, loss: 0.05 };
const patienceMs = 300_000;

let machines: Machines.Machines | null = null;
afterEach(async () => {
  await machines?.close();
  machines = null;
});

const ownTls = (files: Pair.Files): ReadonlyArray<string> => [
  "--listen",
  `${Machines.hostAddress}:7400`,
  "--tls-cert",
  files.cert,
  "--tls-key",
  files.key,
];

verifies(
  ["RUN-225", "RUN-227", "RUN-26"],
  "posts go both ways over a line that delays and loses, and go on by themselves after it was cut",
  async (context) => {
    machines = await Machines.make(context, badLine);
    const files = Pair.writeFiles();
    const pair = await Pair.start({ machines, files, network: ownTls(files) });
    const [toAda, toBob] = [
      ["b1", "b2"],
      ["a1", "a2"],
    ] as [Array<string>, Array<string>];
    for (const index of [0, 1]) {
      expect(await pair.post("ada", toBob[index] as string)).toBe("certified");
      expect(await pair.post("bob", toAda[index] as string)).toBe("certified");
    }
    await pair.told("ada", toAda);
    await pair.told("bob", toBob);

    machines.unplug();
    const meanwhile = [pair.post("ada", "a3"), pair.post("bob", "b3")];
    await sleep(Pair.outageMs);
    machines.plug();
    await Promise.all(meanwhile);
    await pair.told("ada", [...toAda, "b3"]);
    await pair.told("bob", [...toBob, "a3"]);
    expect(await pair.oneHistory()).toHaveLength(6);
    await pair.stop();
  },
  patienceMs,
);

verifies(
  ["RUN-228", "RUN-229"],
  "a machine that slept until the Router gave it up, and one that has another address, go on by themselves",
  async (context) => {
    machines = await Machines.make(context, badLine);
    const files = Pair.writeFiles();
    const pair = await Pair.start({ machines, files, network: ownTls(files) });
    expect(await pair.post("ada", "awake")).toBe("certified");

    Pair.signal(pair.daemon("bob"), "SIGSTOP");
    while ((await pair.connections()) !== 1) await sleep(1_000);
    const asleep = pair.post("ada", "while you slept");
    expect(await asleep).toBe("pending");
    Pair.signal(pair.daemon("bob"), "SIGCONT");
    await pair.told("bob", ["awake", "while you slept"]);

    machines.moveGuest("10.77.0.3");
    const posts = [pair.post("ada", "at the new place"), pair.post("bob", "from the new place")];
    await Promise.all(posts);
    await pair.told("bob", ["awake", "while you slept", "at the new place"]);
    await pair.told("ada", ["from the new place"]);
    expect(await pair.oneHistory()).toHaveLength(4);
    await pair.stop();
  },
  patienceMs,
);
