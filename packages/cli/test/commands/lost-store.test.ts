// A folder that was an agent's and has lost its store: what the daemon says of it, and the way back.

import { readdirSync, renameSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, runHere, serve } from "../Binary.ts";
import { freshInvite, joined, json, refusal, root, startDaemon } from "../Town.ts";

const startOf = (state: string) => runHere(["daemon", "--state", state, "--port", "0", "--json"]);

verifies(
  ["RUN-54", "RUN-262"],
  "a store that is missing or empty is refused and left so, and join with the spent invite is a way back",
  async () => {
    const state = join(root, "ada");
    const store = join(state, "endpoint.sqlite");
    const single = await freshInvite();
    await joined(state, "ada-agent", single);
    const daemon = await startDaemon(state);
    expect(await daemon.stop()).toBe(0);

    const lose: ReadonlyArray<() => void> = [() => rmSync(store), () => truncateSync(store)];
    for (const losing of lose) {
      losing();
      const before = readdirSync(state);
      const refused = await startOf(state);
      expect(failureOf(refused)).toEqual({
        reason: "store-lost",
        message: `${state} has no store although ada-agent was registered from it, or was to be: endpoint.sqlite is missing or empty`,
        next: expect.stringMatching(/`social-harness restore .*`social-harness join .* --name ada-agent/),
      });
      expect(refused.code).toBe(1);
      // An empty backup would one day take the place of a good one.
      expect(await refusal("backup", join(root, "copy"), "--state", state)).toEqual([1, "store-lost"]);
      expect(await refusal("verify", "--full", "--state", state)).toEqual([1, "store-lost"]);
      expect(readdirSync(state)).toEqual(before);
      expect(statSync(store, { throwIfNoEntry: false })?.size ?? 0).toBe(0);
      expect(await joined(state, "ada-agent", single)).toMatchObject({ kind: "registered" });
    }
    const again = await startDaemon(state);
    expect(await json("status", "--state", state)).toMatchObject({ kind: "active" });
    expect(await again.stop()).toBe(0);
  },
);

verifies(
  "RUN-340",
  "a folder that lost its keys is told as that by every command, and no other keys are made in it",
  async () => {
    const state = join(root, "cyd");
    const single = await freshInvite();
    await joined(state, "cyd-agent", single);
    const lost: ReadonlyArray<readonly [owner: string, losing: ReadonlyArray<string>]> = [
      ["cyd-agent", ["identity.json"]],
      ["an agent", ["registration.json"]],
    ];
    for (const [owner, losing] of lost) {
      for (const name of losing) rmSync(join(state, name));
      const before = readdirSync(state);
      for (const words of [
        ["daemon", "--port", "0"],
        ["join", single, "--name", "cyd-agent"],
        ["init"],
        ["init", single],
      ]) {
        const refused = await runHere([...words, "--state", state, "--json"]);
        expect([words[0], refused.code, failureOf(refused)]).toEqual([
          words[0],
          1,
          {
            reason: "keys-lost",
            message: `${state} has no keys although ${owner} has lived in it: identity.json is missing`,
            next: expect.stringContaining("social-harness restore") as string,
          },
        ]);
      }
      const status = failureOf(await runHere(["status", "--state", state, "--json"]));
      expect([status.reason, status.message]).toEqual([
        "daemon-not-running",
        expect.stringContaining("identity.json is missing"),
      ]);
      for (const words of [["doctor"], ["config", "check"]]) {
        const { stdout, stderr } = await runHere([...words, "--state", state]);
        expect(`${stdout}${stderr}`, words.join(" ")).toContain("identity.json is missing");
        expect(`${stdout}${stderr}`, words.join(" ")).not.toContain("Join a network first");
      }
      expect(readdirSync(state)).toEqual(before);
    }
  },
);

verifies("RUN-262", "a new endpoint, which asked for no agent, is served", async () => {
  const state = join(root, "new");
  await joined(state, "new-agent");
  for (const name of ["registration.json", "endpoint.sqlite"]) rmSync(join(state, name));
  const daemon = await startDaemon(state);
  const { stdout } = await runHere(["status", "--state", state]);
  expect(stdout).toContain("No agent yet.");
  expect(await daemon.stop()).toBe(0);
});

verifies("RUN-263", "a store that knows no agent is said to be that where one was asked for", async () => {
  await joined(join(root, "bob"), "bob-agent");
  const state = join(root, "second-bob");
  const invite = await freshInvite();
  expect(await refusal("join", invite, "--name", "bob-agent", "--state", state)).toEqual([1, "name_taken"]);
  const daemon = await serve(["daemon", "--state", state, "--port", "0", "--json"]);
  const { stdout } = await runHere(["status", "--state", state]);
  expect(stdout).toContain("bob-agent was asked for from here, and the store knows no agent");
  expect(stdout).toContain("--name bob-agent");
  expect(await daemon.stop()).toBe(0);
});

verifies(
  "RUN-353",
  "under a daemon that runs, doctor says of a store that was taken away that it be put back",
  async () => {
    const state = join(root, "dan");
    const store = join(state, "endpoint.sqlite");
    await joined(state, "dan-agent");
    const daemon = await startDaemon(state);
    renameSync(store, `${store}.away`);
    const { stdout } = await runHere(["doctor", "--state", state]);
    renameSync(`${store}.away`, store);
    expect(stdout).toContain("was deleted, moved or emptied under the daemon that runs");
    expect(stdout).toContain("Put that very file back");
    expect(stdout).not.toContain("social-harness join");
    expect(await daemon.stop()).toBe(0);
  },
);
