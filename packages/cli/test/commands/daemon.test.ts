// `daemon` as a process: how it is found, refused, stopped and killed.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect } from "vitest";
import * as ProcessBirth from "@social-harness/endpoint/state/ProcessBirth";
import { verifies } from "@social-harness/testkit/Verifies";
import * as SelfSigned from "@social-harness/testkit/SelfSigned";
import { failureOf, runHere, serve, type Served } from "../Binary.ts";
import { version } from "../../src/Version.ts";
import { joined, root, startDaemon } from "../Town.ts";

const ada = join(root, "ada");
let adaDaemon: Served;

beforeAll(async () => {
  await joined(ada, "ada-agent");
  adaDaemon = await startDaemon(ada);
});

describe("the daemon", () => {
  verifies(
    ["RUN-22", "MGT-183"],
    "is found through endpoint.json, which appears when it is ready",
    async () => {
      const endpoint = JSON.parse(readFileSync(join(ada, "endpoint.json"), "utf8")) as object;
      const { mcpUrl } = adaDaemon.ready;
      const ready = { pid: adaDaemon.pid, mcpUrl, mode: "trusted-local" };
      expect(endpoint).toEqual({
        ...ready,
        version,
        born: ProcessBirth.of(adaDaemon.pid),
        secret: expect.stringMatching(/^[\w-]{43}$/) as string,
      });
      expect(adaDaemon.ready).toEqual({ ...ready, contacts: "everyone", blocked: [] });
      const started = readFileSync(join(ada, "logs", "endpoint.log"), "utf8")
        .split("\n")
        .find((line) => line.includes('"endpoint ready"'));
      expect(JSON.parse(started ?? "")).toMatchObject({ contacts: "everyone", blocked: "nobody" });
    },
  );

  verifies("RUN-176", "one of another version is used, and said to be that with what to do", async () => {
    const file = join(ada, "endpoint.json");
    const written = readFileSync(file, "utf8");
    writeFileSync(file, written.replace(`"version":"${version}"`, '"version":"9.0.0"'));
    const status = ["status", "--state", ada];
    const people = await runHere(status);
    expect([people.code, people.stdout]).toEqual([0, expect.stringContaining("ada-agent")]);
    expect(people.stderr).toContain(
      `the daemon is version 9.0.0 and this command version ${version}: stop it`,
    );
    expect(people.stderr).toContain(`\`social-harness daemon --state ${ada}\``);
    const programs = await runHere([...status, "--json"]);
    expect([programs.code, programs.stderr]).toEqual([0, ""]);
    // What another version may hold there is not known here.
    writeFileSync(file, JSON.stringify({ socket: "elsewhere", version: "9.0.0" }));
    const strange = await runHere([...status, "--json"]);
    expect([strange.code, failureOf(strange).reason]).toEqual([1, "state-malformed"]);
    expect(failureOf(strange).message).toContain("a daemon of another version wrote it");
    writeFileSync(file, written);
    expect((await runHere(status)).stderr).toBe("");
  });

  verifies("RUN-21", "a second one on the same folder refuses and names the holder", async () => {
    const second = await runHere(["daemon", "--state", ada, "--port", "0", "--json"]);
    expect([second.code, failureOf(second).reason]).toEqual([1, "state-held"]);
    expect(failureOf(second).message).toContain(`pid ${adaDaemon.pid}`);
  });

  verifies(["RUN-02", "MGT-12"], "a port that is taken is named, with a next step", async () => {
    const state = join(root, "gil");
    await joined(state, "gil-agent");
    const { port } = new URL(adaDaemon.ready["mcpUrl"] as string);
    const refused = await runHere(["daemon", "--state", state, "--port", port, "--json"]);
    expect([refused.code, failureOf(refused).reason]).toEqual([1, "cannot-listen"]);
    expect(failureOf(refused).message).toContain(port);
    expect(failureOf(refused).next).toContain("--port");
  });

  verifies("RUN-24", "a wrong flag or field is named", async () => {
    const flag = await runHere(["daemon", "--state", ada, "--port", "70000", "--json"]);
    expect([flag.code, failureOf(flag).message]).toEqual([2, expect.stringContaining("--port: ")]);
    const state = join(root, "faulty");
    await runHere(["init", "--state", state]);
    const empty = await runHere(["daemon", "--state", state, "--json"]);
    expect([empty.code, failureOf(empty).message]).toEqual([
      1,
      expect.stringContaining("config.json: registryUrl"),
    ]);
    const none = await runHere(["daemon", "--state", join(root, "none"), "--json"]);
    expect([none.code, failureOf(none).reason]).toEqual([1, "no-keys"]);
  });

  verifies(
    "ING-79",
    "a folder with test callbacks is refused without the flag that allows them",
    async () => {
      const state = join(root, "hal");
      await joined(state, "hal-agent");
      const file = join(state, "test-callbacks.json");
      const content = { addresses: ["127.0.0.1"], certificateAuthority: SelfSigned.cert };
      writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
      const command = ["daemon", "--state", state, "--port", "0", "--json"];
      const refused = await runHere(command);
      expect([refused.code, failureOf(refused).reason]).toEqual([1, "state-not-allowed"]);
      expect(failureOf(refused).message).toContain(file);
      expect(failureOf(refused).next).toContain("--allow-test-callbacks");
      await (await serve([...command, "--allow-test-callbacks"])).stop();
      writeFileSync(file, "{}");
      const malformed = await runHere([...command, "--allow-test-callbacks"]);
      expect([malformed.code, failureOf(malformed).reason]).toEqual([1, "state-malformed"]);
    },
  );

  verifies(
    ["RUN-03", "RUN-23"],
    "stopped or killed, it is out of reach with exit code 3 and starts again",
    async () => {
      const state = join(root, "fay");
      await joined(state, "fay-agent");
      const first = await startDaemon(state);
      const started = performance.now();
      expect(await first.stop()).toBe(0);
      expect(performance.now() - started).toBeLessThan(5_000);
      const stopped = await runHere(["status", "--state", state, "--json"]);
      expect([stopped.code, failureOf(stopped).reason]).toEqual([3, "daemon-not-running"]);
      const second = await startDaemon(state);
      await second.stop("SIGKILL");
      const killed = await runHere(["status", "--state", state, "--json"]);
      expect([killed.code, failureOf(killed).message]).toEqual([
        3,
        expect.stringContaining(`pid ${second.pid} is gone`),
      ]);
      await (await startDaemon(state)).stop();
    },
  );
});
