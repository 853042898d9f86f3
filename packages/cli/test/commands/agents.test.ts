// `agents`, and whatever else asks a Registry, where another network's Registry has come to stand at the pinned address.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import * as Invite from "@social-harness/registry/Invite";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, runHere, serve } from "../Binary.ts";
import { invite, joined, refusal, root, startDaemon } from "../Town.ts";

verifies(
  "RUN-105",
  "an empty answer of another Registry is no answer, and the next step is named",
  async () => {
    const other = await serve([
      "network",
      "start",
      "--data",
      join(root, "other"),
      "--listen",
      "127.0.0.1:0",
      "--json",
    ]);
    const registryUrl = other.ready["registryUrl"] as string;
    const state = join(root, "ada");
    await joined(state, "ada-agent");
    const configuration = join(state, "config.json");
    const pinned = JSON.parse(readFileSync(configuration, "utf8")) as object;
    writeFileSync(configuration, JSON.stringify({ ...pinned, registryUrl }));
    const daemon = await startDaemon(state);
    const ended = await runHere(["agents", "--state", state, "--json"]);
    expect([ended.code, ended.stdout, failureOf(ended).reason]).toEqual([3, "", "wrong-registry-key"]);
    expect(failureOf(ended).next).toContain("social-harness move");
    expect(await refusal("send", "agent:bob-agent", "hello", "--state", state)).toEqual([
      3,
      "wrong-registry-key",
    ]);
    expect(await daemon.stop()).toBe(0);
    const misled = Invite.encode({ ...Invite.decode(invite), registryUrl });
    expect(await refusal("join", misled, "--name", "bob-agent", "--state", join(root, "bob"))).toEqual([
      3,
      "wrong-registry-key",
    ]);
    expect(await other.stop()).toBe(0);
  },
);
