// First starts, which make keys, folders, databases and a registration, killed at random instants and repeated with the same
// arguments: each ends as if it had never been killed.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import * as Plan from "@social-harness/testkit/faults/Plan";
import * as Process from "@social-harness/testkit/faults/Process";
import { binary } from "@social-harness/testkit/faults/Services";
import { verifies } from "@social-harness/testkit/Verifies";

const kills = 3;
const agents = 2;
/** About how long a start takes. */
const killMsMax = 1_200;

verifies(
  ["RUN-10", "RUN-68"],
  "a network and its agents come to be through starts that are killed",
  async () => {
    const seed = Math.floor(Math.random() * 1_000_000);
    process.stdout.write(`killed starts: seed ${seed}\n`);
    const random = Plan.randomOf(seed, "killed starts");
    const folder = mkdtempSync(join(tmpdir(), "social-harness-starts-"));
    onTestFinished(() => {
      Process.endAll();
      rmSync(folder, { recursive: true, force: true });
    });
    const log = join(folder, "stderr");
    const doom = async (args: ReadonlyArray<string>): Promise<void> => {
      for (let number = 0; number < kills; number++) {
        const doomed = Process.start(binary, args, log);
        await sleep(random.below(killMsMax));
        doomed.signal("SIGKILL");
        await doomed.ended;
      }
    };

    const data = join(folder, "network");
    const serve = [
      "network",
      "start",
      "--data",
      data,
      "--listen",
      "127.0.0.1:0",
      "--admission",
      "open",
      "--json",
    ];
    await doom(serve);
    const network = Process.start(binary, serve, log);
    const { invite } = (await network.ready) as { readonly invite: string };

    for (let number = 0; number < agents; number++) {
      const state = join(folder, `agent-${number}`);
      const args = ["join", invite, "--name", `agent-${number}`, "--state", state, "--json"];
      await doom(args);
      const joined = await Process.run(binary, args);
      expect(joined.code, `seed ${seed}: ${joined.stderr}`).toBe(0);
      expect((await Process.run(binary, args)).stdout, "again, the same card").toBe(joined.stdout);
    }
    network.signal("SIGTERM");
    expect(await network.ended).toBe(0);
  },
  300_000,
);
