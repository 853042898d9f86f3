// Files that go away under a running daemon, and power that goes when a command has said that it is done.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import * as Identity from "@social-harness/endpoint/state/Identity";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import type { Endpoint } from "@social-harness/testkit/faults/Endpoint";
import * as Plan from "@social-harness/testkit/faults/Plan";
import * as Process from "@social-harness/testkit/faults/Process";
import { binary } from "@social-harness/testkit/faults/Services";
import * as PowerCut from "@social-harness/testkit/storage/PowerCut";
import * as Town from "@social-harness/testkit/storage/Town";
import { verifies } from "@social-harness/testkit/Verifies";

const standsAs = (agent: Endpoint, reason: string | null) => async () =>
  (await Town.readiness(agent)).standing.storeTrouble?.reason === (reason ?? undefined);

verifies(
  ["RUN-322", "RUN-323"],
  "C51 a daemon whose store, write-ahead log or lock is taken away takes, votes and certifies nothing until it is back",
  async () => {
    const town = await Town.create();
    const ann = await town.settle("ann");
    const bob = await town.settle("bob");
    const send = (from: Endpoint, to: string, text: string) =>
      from.client.call("send_message", { input: { to, text }, idempotencyKey: text });
    await send(bob, "agent:ann", "before");
    await Town.eventually("it has come", async () => (await Town.inbox(ann)).length === 1);
    const [before] = await Town.inbox(ann);
    const files = [ann.database, `${ann.database}-wal`, StateFolder.at(ann.state).lock];
    for (const [index, file] of files.entries()) {
      renameSync(file, `${file}.away`);
      // Nobody asks anything of it meanwhile.
      await Town.eventually("it has seen it", standsAs(ann, "gone"));
      const waiting = send(bob, "agent:ann", `while ${index} was away`);
      expect(await Town.reasonOf(send(ann, "agent:bob", `in vain ${index}`))).toBe("persistence-failed");
      expect(
        await Town.reasonOf(ann.client.call("acknowledge_delivery", { deliveryToken: before?.token })),
      ).toBe("persistence-failed");
      const { status, standing } = await Town.readiness(ann);
      expect([status, standing.storeTrouble?.explanation]).toEqual([
        503,
        expect.stringContaining("stop the daemon, put the folder back"),
      ]);
      expect(await Town.inbox(ann)).toHaveLength(index + 1);
      renameSync(`${file}.away`, file);
      await Town.eventually("it goes on", standsAs(ann, null));
      await waiting;
      await Town.eventually("what waited has come", async () => (await Town.inbox(ann)).length === index + 2);
    }
    expect(Town.complaints(ann).map(({ reason }) => reason)).toContain("gone");

    rmSync(`${ann.database}-wal`);
    await Town.eventually("it has seen it", standsAs(ann, "gone"));
    expect(await ann.resident.stop(20_000)).toBe(true);
    await ann.resident.start();
    // A clean end folds what the deleted log held into the file.
    expect(await Town.inbox(ann)).toHaveLength(files.length + 1);
    expect(town.ends).toEqual([]);
  },
  240_000,
);

verifies(
  "RUN-320",
  "C51 every command refuses what is left of a lost store and leaves it as it is",
  async () => {
    const town = await Town.create();
    const ann = await town.settle("ann");
    await ann.resident.kill();
    const bytesOf = (path: string): Buffer | null => (existsSync(path) ? readFileSync(path) : null);
    for (const lose of [(path: string) => truncateSync(path, 0), (path: string) => rmSync(path)]) {
      lose(ann.database);
      const log = readFileSync(`${ann.database}-wal`);
      expect(log.length).toBeGreaterThan(0);
      const file = bytesOf(ann.database);
      for (const [command, ...args] of [
        ["doctor"],
        ["verify", "--full"],
        ["backup", join(town.folder, "copy")],
        ["daemon", "--port", "0"],
      ] as const) {
        const refused = await Process.run(binary, [command, ...args, "--state", ann.state, "--json"]);
        expect([command, refused.code, refused.stderr]).toEqual([
          command,
          1,
          expect.stringContaining("endpoint.sqlite-wal beside it holds what was written to it"),
        ]);
        expect(bytesOf(ann.database), command).toEqual(file);
        expect(readFileSync(`${ann.database}-wal`), command).toEqual(log);
      }
    }
    expect(existsSync(join(town.folder, "copy"))).toBe(false);
  },
  240_000,
);

verifies(
  "RUN-335",
  "C51 a network whose logs are taken away is not ready, says so once each, and goes on with what was sent when they are back",
  async () => {
    const folder = Town.temporaryFolder();
    const town = await Town.create(folder);
    const ann = await town.settle("ann");
    const bob = await town.settle("bob");
    const send = (text: string) =>
      bob.client.call("send_message", { input: { to: "agent:ann", text }, idempotencyKey: text });
    const said = (): ReadonlyArray<readonly [unknown, unknown]> =>
      readFileSync(join(folder, "network.stderr"), "utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .map(({ event, service }) => [event, service]);
    const ready = async (url: string): Promise<string> => {
      const answer = (await (await fetch(new URL("/readyz", url))).json()) as { cause?: string };
      return answer.cause ?? "ready";
    };
    const { registryUrl, routerUrl } = town.network.description;
    const registry = ["Registry", registryUrl] as const;
    const router = ["Router", routerUrl.replace(/^ws/, "http")] as const;
    const places = [
      ["registry.sqlite", [registry]],
      ["router.sqlite", [router]],
      ["lock", [registry, router]],
    ] as const;
    const stand = (services: ReadonlyArray<typeof registry | typeof router>, as: string) => async () =>
      (await Promise.all(services.map(([, url]) => ready(url)))).every((found) => found === as);
    const expected: Array<readonly [string, string]> = [];
    for (const [name, services] of places) {
      const file = join(folder, "network", name);
      renameSync(file, `${file}.away`);
      await Town.eventually("it has seen it", stand(services, "log-gone"));
      const waiting = name === "router.sqlite" ? send("while it was away") : Promise.resolve();
      renameSync(`${file}.away`, file);
      await Town.eventually("it is well again", stand(services, "ready"));
      await waiting;
      // The same trouble of one service within a minute is said once.
      if (name === "lock") continue;
      for (const [service] of services)
        expected.push(["log_unusable", service], ["log_works_again", service]);
    }
    await Town.eventually("it has come", async () => (await Town.inbox(ann)).length === 1);
    await town.settle("fay");
    expect(said()).toEqual(expected);
    expect(town.ends).toEqual([]);
  },
  180_000,
);

verifies(
  "RUN-327",
  "keys that `init` has shown are on the disk, whatever the power does then",
  async ({ skip }) => {
    const scratch = Town.temporaryFolder();
    const grid = PowerCut.prepare(scratch);
    if ("why" in grid) return skip(grid.why);
    const state = join(scratch, "state");
    mkdirSync(state, { mode: 0o700 });
    const allLost = { ...Plan.randomOf(0, "power"), chance: () => true };
    const { environment, cut } = grid("state", state, allLost);
    const args = ["init", "--state", state, "--json"];
    const made = Process.start(binary, args, join(scratch, "stderr"), environment);
    const shown = (await made.ready) as { readonly signingKey: string };
    expect(await made.ended).toBe(0);
    cut();
    expect(Identity.load(StateFolder.at(state))?.signingKey).toBe(shown.signingKey);
  },
  60_000,
);
