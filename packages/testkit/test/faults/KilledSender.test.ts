// The command that sends is killed at random instants and repeated under its key: whatever the first one got done, there is
// one post.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import * as Endpoint from "@social-harness/testkit/faults/Endpoint";
import { Faults } from "@social-harness/testkit/faults/Fault";
import * as Plan from "@social-harness/testkit/faults/Plan";
import * as Process from "@social-harness/testkit/faults/Process";
import * as Services from "@social-harness/testkit/faults/Services";
import { verifies } from "@social-harness/testkit/Verifies";

const kills = 6;
/** About how long the command takes: some kills find it before its call, some during it, some after its answer. */
const killMsMax = 1_500;

verifies(
  "RUN-67",
  `${kills} killed sends that are repeated under their keys leave one post each`,
  async () => {
    const seed = Math.floor(Math.random() * 1_000_000);
    process.stdout.write(`killed sends: seed ${seed}\n`);
    const random = Plan.randomOf(seed, "killed sends");
    const folder = mkdtempSync(join(tmpdir(), "social-harness-sends-"));
    onTestFinished(() => {
      Process.endAll();
      rmSync(folder, { recursive: true, force: true });
    });
    const faults = new Faults();
    const onUnexpectedEnd = (how: string): void => faults.add(how);
    const network = await Services.start({ services: "together", folder, onUnexpectedEnd });
    const [ada, bob] = await Promise.all(
      ["ada-agent", "bob-agent"].map((name) =>
        Endpoint.settle({ name, folder, network: network.description, prepare: null, onUnexpectedEnd }),
      ),
    );
    if (ada === undefined || bob === undefined) throw new Error("two endpoints were asked for");

    const posts: Array<unknown> = [];
    for (let number = 0; number < kills; number++) {
      const text = `order ${number}`;
      const args = ["send", "agent:bob-agent", text, "--key", text, "--state", ada.state, "--json"];
      const doomed = Process.start(Services.binary, args, join(folder, "send.stderr"));
      await sleep(random.below(killMsMax));
      doomed.signal("SIGKILL");
      await doomed.ended;
      const { code, stdout, stderr } = await Process.run(Services.binary, args);
      expect(code, stderr).toBe(0);
      const { postId } = JSON.parse(stdout) as { readonly postId: string };
      posts.push({ text, postId });
      const answered = (await doomed.ready) as { readonly postId: string } | null;
      if (answered !== null) expect(answered.postId, `seed ${seed}`).toBe(postId);
    }

    const { records } = await bob.client.call("read_conversation", { address: "agent:ada-agent" });
    const held = records.map(({ recordCore: { action } }) => ({
      text: action.postIntent.content.map((part) => (part.type === "text" ? part.text : "")).join(""),
      postId: action.postIntent.postId,
    }));
    expect(held, `seed ${seed}`).toEqual(posts);
    expect(faults.sentences).toEqual([]);
  },
  300_000,
);
