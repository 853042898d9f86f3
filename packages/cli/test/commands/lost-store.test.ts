// A folder that was an agent's and has lost its store: what the daemon says of it, and the way back.

import { readdirSync, rmSync, statSync, truncateSync } from "node:fs";
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
