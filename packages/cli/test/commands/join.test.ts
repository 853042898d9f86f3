// `join` in each of its situations, through the binary's own code and a real network.

import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Invite from "@social-harness/registry/Invite";
import { failureOf, lastJson, run, runHere } from "../Binary.ts";
import { data, freshInvite, invite, joined, json, network, refusal, root, startDaemon } from "../Town.ts";

const ada = join(root, "ada");

const used = async (): Promise<unknown> => {
  const { invites } = await json("network", "invite", "list", "--data", data);
  return (invites as ReadonlyArray<{ used: number }>).map((one) => one.used);
};

beforeAll(async () => {
  await joined(ada, "ada-agent");
  await startDaemon(ada);
});

describe("join", () => {
  verifies("RUN-20", "makes a folder that is its owner's alone", () => {
    expect(statSync(ada).mode & 0o777).toBe(0o700);
    for (const file of [
      "identity.json",
      "config.json",
      "owner-token",
      "metrics-token",
      "registration.json",
      "endpoint.sqlite",
    ]) {
      expect([file, statSync(join(ada, file)).mode & 0o777]).toEqual([file, 0o600]);
    }
  });

  verifies(
    ["RUN-306", "RUN-156"],
    "C76: an invite from stdin joins, and stands in no list of processes",
    async () => {
      const state = join(root, "piped");
      const secret = await freshInvite();
      const joining = run(["join", "-", "--name", "piped-agent", "--state", state, "--json"], {
        input: `${secret}\r\n`,
      });
      let processes = "";
      for (let done = false; !done;) {
        processes += execFileSync("ps", ["-eo", "args"], { encoding: "utf8" });
        done = await Promise.race([joining.then(() => true), sleep(50, false)]);
      }
      expect(lastJson(await joining)).toMatchObject({ kind: "registered" });
      expect(processes).toContain("join - --name piped-agent");
      expect(processes).not.toContain(secret);
      const move = await run(["move", "-", "--state", state, "--json"], { input: secret });
      expect(lastJson(move)).toMatchObject({ kind: "moved" });
      const init = await run(["init", "-", "--state", join(root, "piped-keys"), "--json"], { input: secret });
      expect(lastJson(init)).toMatchObject({ created: true });
      for (const input of ["", "\n", "shn1_x", `${secret}${" ".repeat(300_000)}`]) {
        const refused = await run(["join", "-", "--name", "piped-agent", "--state", state, "--json"], {
          input,
        });
        expect([refused.code, failureOf(refused).reason]).toEqual([2, "usage"]);
      }
    },
  );

  test("pins the network's keys and keeps no credential", () => {
    const { registryKey, routerKey } = network.ready;
    const config = JSON.parse(readFileSync(join(ada, "config.json"), "utf8")) as object;
    expect(config).toMatchObject({ registryKey, routerKey });
    expect(config).not.toHaveProperty("admission");
  });

  verifies(
    "RUN-10",
    "repeated after a lost answer, it ends with the one card that was given then",
    async () => {
      const state = join(root, "cyd");
      const target = network.ready["registryUrl"] as string;
      let lost = 0;
      // Hands every request on, and loses the answer to the first registration.
      const proxy: Server = createServer((request, response) => {
        void (async () => {
          const body = await buffer(request);
          const { host: _host, ...headers } = request.headers;
          const answer = await fetch(target + request.url, {
            method: "POST",
            headers: Object.entries(headers) as Array<[string, string]>,
            body,
          });
          const bytes = Buffer.from(await answer.arrayBuffer());
          // A request that breaks off on a used connection is said again by the client itself: each gets its own.
          const answered = { ...Object.fromEntries(answer.headers), connection: "close" };
          if (request.url === "/v1/identities:register" && lost++ === 0) response.destroy();
          else response.writeHead(answer.status, answered).end(bytes);
        })();
      });
      await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
      afterAll(() => void proxy.close());
      const registryUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
      const throughProxy = Invite.encode({ ...Invite.decode(invite), registryUrl });

      const before = await used();
      const words = ["join", throughProxy, "--name", "cyd-agent", "--state", state, "--json"];
      const first = await runHere(words);
      expect([first.code, failureOf(first).reason]).toEqual([3, "dependency-unavailable"]);
      const ids = readFileSync(join(state, "registration.json"), "utf8");
      const second = await runHere(words);
      expect([second.code, lost]).toEqual([0, 2]);
      expect(readFileSync(join(state, "registration.json"), "utf8")).toBe(ids);
      const card = lastJson(second)["agentCard"];
      expect(card).toMatchObject({
        agentName: "cyd-agent",
        principalId: (JSON.parse(ids) as object as { principalId: string }).principalId,
      });
      expect(await used()).not.toEqual(before);
      expect(await joined(state, "cyd-agent", throughProxy)).toEqual({
        kind: "registered",
        agentCard: card,
      });
      const found = await json("agents", "--name", "cyd-agent", "--state", ada);
      expect(found).toEqual({ kind: "found", agentCard: card });
    },
  );

  verifies("RUN-11", "goes through the daemon that holds the folder", async () => {
    const state = join(root, "dan");
    expect(await json("init", invite, "--state", state)).toMatchObject({ created: true });
    const daemon = await startDaemon(state);
    expect(await json("status", "--state", state)).toMatchObject({
      kind: "unregistered",
      health: { registered: false, routerConnected: false, routerSince: null },
    });
    const early = await runHere(["send", "agent:ada-agent", "hello", "--state", state, "--json"]);
    expect([early.code, failureOf(early).reason]).toEqual([1, "not-registered"]);
    const words = await runHere(["join", invite, "--name", "dan-agent", "--state", state]);
    expect([words.code, words.stdout.includes("Next")]).toEqual([0, false]);
    const { agentCard } = await joined(state, "dan-agent");
    expect(await json("status", "--state", state)).toMatchObject({ kind: "active", agentCard });
    expect(await daemon.stop()).toBe(0);
  });

  test("is refused in each way with its own reason", async () => {
    const eve = join(root, "eve");
    expect(await refusal("join", invite, "--name", "ada-agent", "--state", eve)).toEqual([1, "name_taken"]);
    expect(await refusal("join", invite, "--name", "Eve", "--state", eve)).toEqual([2, "usage"]);
    expect(
      await refusal("join", network.ready["invite"] as string, "--name", "eve-agent", "--state", eve),
    ).toEqual([1, "admission_refused"]);
    expect(await refusal("join", invite, "--name", "other-agent", "--state", ada)).toEqual([
      1,
      "already-registered",
    ]);
    const other = Invite.encode({ ...Invite.decode(invite), routerKey: Invite.decode(invite).registryKey });
    expect(await refusal("join", other, "--name", "ada-agent", "--state", ada)).toEqual([1, "other-network"]);
    const principal = `prn_${"A".repeat(22)}`;
    const card = await json("join", invite, "--name", "eve-agent", "--principal", principal, "--state", eve);
    expect(card).toMatchObject({ kind: "registered", agentCard: { principalId: principal } });
  });

  verifies("RUN-106", "with an invite of an earlier address says so, and harms nothing", async () => {
    const old = Invite.encode({ ...Invite.decode(invite), registryUrl: "http://127.0.0.1:9" });
    const state = join(root, "fay");
    const addressOf = (): unknown =>
      (JSON.parse(readFileSync(join(state, "config.json"), "utf8")) as { registryUrl: string }).registryUrl;
    const words = ["--name", "fay-agent", "--state", state];
    const lost = await runHere(["join", old, ...words, "--json"]);
    expect([lost.code, failureOf(lost).reason]).toEqual([3, "dependency-unavailable"]);
    expect(failureOf(lost).next).toMatch(/try again.*ask its operator for a fresh one/);
    await joined(state, "fay-agent");
    expect(addressOf()).toBe(network.ready["registryUrl"]);
    const again = await runHere(["join", old, ...words]);
    expect([again.code, again.stderr.includes("`move`")]).toEqual([0, true]);
    expect(addressOf()).toBe(network.ready["registryUrl"]);
    rmSync(join(state, "endpoint.sqlite"));
    expect(await refusal("join", old, ...words)).toEqual([3, "dependency-unavailable"]);
    expect(addressOf()).toBe(network.ready["registryUrl"]);
    expect(await joined(state, "fay-agent")).toMatchObject({ kind: "registered" });
  });

  verifies("RUN-09", "with a spent or a revoked invite admits nobody, while the network runs", async () => {
    const gus = join(root, "gus");
    const refused = (by: string) => refusal("join", by, "--name", "gus-agent", "--state", gus);
    const single = await freshInvite();
    expect(await joined(join(root, "hal"), "hal-agent", single)).toMatchObject({ kind: "registered" });
    expect(await refused(single)).toEqual([1, "admission_refused"]);
    const revoked = await freshInvite();
    const { invites } = await json("network", "invite", "list", "--data", data);
    const { inviteId } = (invites as ReadonlyArray<{ inviteId: string }>).at(-1) as { inviteId: string };
    await json("network", "invite", "revoke", inviteId, "--data", data);
    expect(await refused(revoked)).toEqual([1, "admission_refused"]);
    expect(await joined(gus, "gus-agent")).toMatchObject({ kind: "registered" });
  });
});
