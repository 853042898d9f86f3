// `status` and the failures of joining where the network is not as it should be: untrusted, gone, or with a member asleep.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { cert, key } from "@social-harness/testkit/SelfSigned";
import { failureOf, lastJson, run, runHere, serve, temporaryFolder, type Served } from "../Binary.ts";

interface Health {
  readonly routerConnected: boolean;
  readonly routerTrouble: { readonly reason: string; readonly explanation: string } | null;
  readonly pendingPosts: number;
}

const folder = temporaryFolder();
const ca = join(folder, "cert.pem");
const keyFile = join(folder, "key.pem");
writeFileSync(ca, cert);
writeFileSync(keyFile, key);

const startNetwork = (listen: string): Promise<Served> =>
  serve(
    ["network", "start", "--data", join(folder, "net"), "--listen", listen, "--json"].concat([
      "--tls-cert",
      ca,
      "--tls-key",
      keyFile,
    ]),
  );

const statusOf = async (state: string) =>
  lastJson(await runHere(["status", "--state", state, "--json"])) as { readonly health: Health };

/** The standing once it is so. */
const standing = async (state: string, holds: (health: Health) => boolean): Promise<Health> => {
  for (;;) {
    const { health } = await statusOf(state);
    if (holds(health)) return health;
    await sleep(50);
  }
};

const trusting = { env: { NODE_EXTRA_CA_CERTS: ca } };

verifies(
  ["RUN-16", "RUN-17"],
  "an untrusted certificate is told as that by join, and by the status of a daemon that runs into it",
  async () => {
    const network = await startNetwork("127.0.0.1:0");
    const created = await runHere([
      "network",
      "invite",
      "create",
      "--data",
      join(folder, "net"),
      "--uses",
      "9",
      "--json",
    ]);
    const invite = lastJson(created)["invite"] as string;
    const ada = join(folder, "ada");
    const words = ["join", invite, "--name", "ada-agent", "--state", ada, "--json"];
    const refused = await run(words);
    expect([refused.code, failureOf(refused)]).toEqual([
      3,
      {
        reason: "dependency-unavailable",
        message: "the Registry's certificate is not trusted (self-signed certificate)",
        next: expect.stringContaining("NODE_EXTRA_CA_CERTS"),
      },
    ]);
    expect((await run(words, trusting)).code).toBe(0);

    const daemon = await serve(["daemon", "--state", ada, "--port", "0", "--json"]);
    const health = await standing(ada, ({ routerTrouble }) => routerTrouble !== null);
    expect(health).toMatchObject({
      routerConnected: false,
      routerTrouble: {
        reason: "untrusted-certificate",
        explanation: expect.stringMatching(/self-signed certificate.*NODE_EXTRA_CA_CERTS/),
      },
    });
    const plain = await runHere(["status", "--state", ada]);
    expect(plain.stdout).toMatch(/^Router {3}not connected since .*not trusted \(self-signed certificate\)/m);
    const sent = await runHere(["send", "agent:bob-agent", "hello", "--state", ada, "--json"]);
    expect([sent.code, failureOf(sent).message]).toEqual([3, expect.stringContaining("is not trusted")]);
    expect(await daemon.stop()).toBe(0);
    expect(await network.stop()).toBe(0);
  },
);

verifies(
  "RUN-17",
  "posts that wait are counted and their addresses named, and an outage is told as one",
  async () => {
    const data = join(folder, "plain");
    const network = await serve(["network", "start", "--data", data, "--listen", "127.0.0.1:0", "--json"]);
    const created = await runHere(["network", "invite", "create", "--data", data, "--uses", "2", "--json"]);
    const invite = lastJson(created)["invite"] as string;
    const [cyd, dan] = [join(folder, "cyd"), join(folder, "dan")];
    await runHere(["join", invite, "--name", "cyd-agent", "--state", cyd]);
    await runHere(["join", invite, "--name", "dan-agent", "--state", dan]);
    const daemon = await serve(["daemon", "--state", cyd, "--port", "0", "--json"]);
    await standing(cyd, ({ routerConnected }) => routerConnected);
    // Killed while it waits for a member that sleeps: the post is persisted all the same.
    const sending = run(["send", "agent:dan-agent", "hello", "--state", cyd, "--json"]);
    await standing(cyd, ({ pendingPosts }) => pendingPosts === 1);
    const plain = await runHere(["status", "--state", cyd]);
    expect(plain.stdout).toMatch(/^Router {3}connected since /m);
    expect(plain.stdout).toMatch(/^Pending {2}1 post, to agent:dan-agent$/m);
    expect(plain.stdout).toMatch(/^Inbox {4}nothing waits$/m);
    expect(await network.stop()).toBe(0);
    const gone = await standing(cyd, ({ routerTrouble }) => routerTrouble?.reason === "unreachable");
    expect(gone.routerTrouble?.explanation).toBe("the Router cannot be reached (connection refused)");
    expect(await daemon.stop()).toBe(0);
    expect(lastJson(await sending)).toMatchObject({ status: "pending" });
  },
);
