// `network` through the binary: one process that serves, and an operator beside it.

import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Invite from "@social-harness/registry/Invite";
import { failureOf, lastJson, runHere, serve, temporaryFolder } from "../Binary.ts";

const start = (data: string, ...more: ReadonlyArray<string>) =>
  serve(["network", "start", "--data", data, "--listen", "127.0.0.1:0", "--json", ...more]);

describe("network", () => {
  verifies(
    "RUN-07",
    "prints its addresses, keys and invite, serves, and stops cleanly when told",
    async () => {
      const data = join(temporaryFolder(), "net");
      const network = await start(data);
      expect(Object.keys(network.ready)).toEqual([
        "registryUrl",
        "routerUrl",
        "registryKey",
        "routerKey",
        "invite",
      ]);
      const { invite, ...description } = network.ready;
      expect(Invite.decode(invite as string)).toEqual(description);
      const registryUrl = network.ready["registryUrl"] as string;
      expect((await fetch(`${registryUrl}/readyz`)).status).toBe(200);
      expect(
        (await fetch((network.ready["routerUrl"] as string).replace("ws:", "http:") + "/readyz")).status,
      ).toBe(200);
      expect(await network.stop()).toBe(0);
      await expect(fetch(`${registryUrl}/readyz`)).rejects.toThrow();
      for (const file of ["network.json", "registry.sqlite", "router.sqlite"]) {
        expect([file, statSync(join(data, file)).mode & 0o777]).toEqual([file, 0o600]);
      }

      const again = await start(data);
      expect(again.ready["registryKey"]).toBe(network.ready["registryKey"]);
      expect(again.ready["routerKey"]).toBe(network.ready["routerKey"]);
      expect(await again.stop("SIGINT")).toBe(0);
    },
  );

  verifies("RUN-146", "both services show what they counted to the token of the folder alone", async () => {
    const data = join(temporaryFolder(), "net");
    const network = await start(data);
    const path = join(data, "metrics-token");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const pages = [
      [`${network.ready["registryUrl"] as string}/metrics`, "social_harness_registry_agents 0"],
      [
        `${(network.ready["routerUrl"] as string).replace("ws:", "http:")}/metrics`,
        "social_harness_router_connections 0",
      ],
    ] as const;
    const ask = (url: string, token?: string) =>
      fetch(url, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
    const token = readFileSync(path, "utf8");
    for (const [url, line] of pages) {
      expect([(await ask(url)).status, (await ask(url, `${token}x`)).status]).toEqual([401, 401]);
      const page = await ask(url, token);
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining(`${line}\n`)]);
    }
    // It is changed by writing it anew, and one that is too short opens nothing.
    const fresh = "another-token-another-token-another-token";
    writeFileSync(path, fresh);
    for (const [url] of pages)
      expect([(await ask(url, token)).status, (await ask(url, fresh)).status]).toEqual([401, 200]);
    writeFileSync(path, "short");
    for (const [url] of pages) expect((await ask(url, "short")).status).toBe(401);
    expect(await network.stop()).toBe(0);
  });

  verifies("RUN-08", "shows a credential once, when its invite is made", async () => {
    const data = temporaryFolder();
    const network = await start(data);
    const created = lastJson(
      await runHere(["network", "invite", "create", "--data", data, "--uses", "3", "--json"]),
    );
    expect(Object.keys(created)).toEqual(["invite"]);
    const { admission, ...description } = Invite.decode(created["invite"] as string);
    expect(admission).toMatch(/^adm_/);
    const shown = await runHere(["network", "show", "--data", data, "--json"]);
    expect(lastJson(shown)).toEqual(network.ready);
    expect(lastJson(shown)).toMatchObject(description);
    const listed = await runHere(["network", "invite", "list", "--data", data, "--json"]);
    expect(lastJson(listed)["invites"]).toMatchObject([{ state: "open", uses: 3, used: 0 }]);
    const everything = shown.stdout + listed.stdout + JSON.stringify(network.ready);
    expect(everything).not.toContain(admission);
    const onDisk = ["network.json", "reached.json", "registry.sqlite"].map((name) =>
      readFileSync(join(data, name)),
    );
    for (const bytes of onDisk) expect(bytes.includes(admission as string)).toBe(false);
  });

  verifies("RUN-08", "says of the network's own invite that it lets nobody in", async () => {
    const data = join(temporaryFolder(), "net");
    const network = await start(data);
    const shown = await runHere(["network", "show", "--data", data]);
    expect(shown.stdout).toContain(`Network   ${String(network.ready["invite"])}\n`);
    expect(shown.stdout).toMatch(/admits nobody by itself.*network invite create/);
    expect(shown.stdout).not.toContain("Invite");
  });

  verifies("RUN-30", "a new folder ignores itself", async () => {
    const data = join(temporaryFolder(), "net");
    await start(data);
    expect(readFileSync(join(data, ".gitignore"), "utf8")).toBe("*\n");
  });

  verifies("RUN-09", "an invite is revoked while the network runs, once and for good", async () => {
    const data = temporaryFolder();
    await start(data);
    await runHere(["network", "invite", "create", "--data", data]);
    const list = async () =>
      lastJson(await runHere(["network", "invite", "list", "--data", data, "--json"]))["invites"];
    const [{ inviteId }] = (await list()) as [{ inviteId: string }];
    const revoke = (id: string) => runHere(["network", "invite", "revoke", id, "--data", data, "--json"]);
    expect(lastJson(await revoke(inviteId))).toEqual({ kind: "revoked" });
    expect(lastJson(await revoke(inviteId))).toEqual({ kind: "already_revoked" });
    expect(await list()).toMatchObject([{ inviteId, state: "revoked" }]);
    const unknown = await revoke(`inv_${"A".repeat(22)}`);
    expect([unknown.code, failureOf(unknown).reason]).toEqual([1, "not-found"]);
    expect((await revoke("inv_x")).code).toBe(2);
  });

  verifies("RUN-15", "one process serves a folder, and a killed one stops nobody", async () => {
    const data = temporaryFolder();
    const network = await start(data);
    const second = await runHere(["network", "start", "--data", data, "--listen", "127.0.0.1:0", "--json"]);
    expect([second.code, failureOf(second).reason]).toEqual([1, "network-held"]);
    expect(failureOf(second).message).toContain(`pid ${network.pid}`);
    await network.stop("SIGKILL");
    expect(await (await start(data)).stop()).toBe(0);
  });

  verifies("RUN-07", "a port that is taken is a failure with a next step", async () => {
    const network = await start(temporaryFolder());
    const { host } = new URL(network.ready["registryUrl"] as string);
    const second = await runHere([
      "network",
      "start",
      "--data",
      temporaryFolder(),
      "--listen",
      host,
      "--json",
    ]);
    expect([second.code, failureOf(second).reason]).toEqual([1, "cannot-listen"]);
    expect(failureOf(second).message).toContain(host);
  });

  verifies("RUN-02", "a certificate that is none is not taken for a busy port", async () => {
    const folder = temporaryFolder();
    const pem = join(folder, "none.pem");
    writeFileSync(pem, "-----BEGIN NOTHING-----\n");
    const tls = ["--tls-cert", pem, "--tls-key", pem];
    const refused = await runHere([
      "network",
      "start",
      "--data",
      folder,
      "--listen",
      "127.0.0.1:0",
      ...tls,
      "--json",
    ]);
    expect([refused.code, failureOf(refused).reason]).toEqual([1, "tls-unusable"]);
  });
});
