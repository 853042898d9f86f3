// The command line as a whole: help, wrong usage, exit codes, and a Node that is too old.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, repositoryRoot, run, runHere, temporaryFolder } from "./Binary.ts";

const commands = [
  ["demo"],
  ["replay"],
  ["network", "start"],
  ["network", "show"],
  ["network", "invite", "create"],
  ["network", "invite", "list"],
  ["network", "invite", "revoke"],
  ["init"],
  ["join"],
  ["daemon"],
  ["status"],
  ["agents"],
  ["send"],
  ["withdraw"],
  ["inbox"],
  ["ack"],
  ["hold", "list"],
  ["hold", "show"],
  ["hold", "discard"],
  ["hold", "release"],
  ["history"],
  ["round", "wish"],
  ["evidence"],
  ["export"],
  ["verify"],
  ["move"],
];

describe("the command line", () => {
  verifies(
    "RUN-286",
    "what goes on until it is stopped says under --help what a supervisor has to know, and what its --json prints",
    async () => {
      const helpOf = async (...words: ReadonlyArray<string>): Promise<string> =>
        (await runHere([...words, "--help"])).stdout.replaceAll(/\s+/g, " ");
      for (const words of [["daemon"], ["network", "start"]]) {
        const help = await helpOf(...words);
        expect(help).toContain("print one JSON object, in one line, when it is ready");
        expect(help).not.toContain("last line of stdout");
        for (const said of ["Environment:", "OTEL_EXPORTER_OTLP_ENDPOINT", "Exit codes:", "Keep a copy"])
          expect(help).toContain(said);
        expect(help).toMatch(/ 0 it was told to stop.* 1 it cannot run.* 2 a wrong command line/);
      }
      const daemon = await helpOf("daemon");
      for (const name of ["SOCIAL_HARNESS_STATE", "NODE_EXTRA_CA_CERTS", "NODE_USE_ENV_PROXY", "backup"])
        expect(daemon).toContain(name);
      const network = await helpOf("network", "start");
      for (const name of ["network.json", "registry.sqlite", "router.sqlite", "metrics-token"])
        expect(network).toContain(name);
      for (const name of ["inbox", "logs"])
        expect(await helpOf(name)).toContain("with --follow, one in each line");
    },
  );

  verifies("RUN-04", "every command has --help with an example, and takes --json", async () => {
    for (const words of commands) {
      const { code, stdout } = await runHere([...words, "--help"]);
      expect([words, code]).toEqual([words, 0]);
      expect(stdout).toContain(`Usage: social-harness ${words.join(" ")}`);
      expect(stdout).toContain(`$ social-harness ${words.join(" ")}`);
      expect(stdout).toContain("--json");
    }
  });

  test("the top tells the exit codes and lists every command", async () => {
    const { code, stdout } = await runHere(["--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain(
      "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 daemon or network out of reach.",
    );
    for (const [first] of commands) expect(stdout).toContain(`\n  ${first}`);
  });

  verifies(
    ["RUN-02", "RUN-03"],
    "wrong usage exits with 2, and says so as JSON where that was asked",
    async () => {
      const state = temporaryFolder();
      const wrong: ReadonlyArray<ReadonlyArray<string>> = [
        ["fly"],
        ["send"],
        ["send", "agent:bob-agent", "hello", "more"],
        ["status", "--colour"],
        ["network", "invite", "create", "--uses", "0", "--data", state],
        ["network", "start", "--listen", "0.0.0.0:0", "--data", state],
        ["network", "show", "--data", state],
        ["join", "shn1_x", "--name", "ada-agent", "--state", state],
        ["agents", "--name", "ada-agent", "--prefix", "a", "--state", state],
        ["verify", "nowhere.jsonl", "--state", state],
        ["verify", "nowhere.jsonl", "--registry-key", "short"],
        ["status", "--state", ""],
        ["network", "start", "--data", ""],
        ["status", "--profile", "../x"],
      ];
      for (const words of wrong) {
        const ended = await runHere([...words, "--json"]);
        expect([words, ended.code, ended.stdout]).toEqual([words, 2, ""]);
        expect(failureOf(ended)).toMatchObject({ reason: "usage" });
        expect(failureOf(ended).message).not.toBe("");
        expect(failureOf(ended).next).not.toBe("");
      }
      const plain = await run(["send"]);
      expect(plain.code).toBe(2);
      expect(plain.stderr).toContain("missing required argument 'address'");
    },
  );

  verifies("RUN-03", "a daemon that is not there exits with 3 and names the next step", async () => {
    const state = temporaryFolder();
    expect((await runHere(["init", "--state", state])).code).toBe(0);
    const words = [
      ["status"],
      ["agents"],
      ["send", "agent:bob-agent", "hello"],
      ["inbox"],
      ["inbox", "--follow"],
      ["ack", `dlv_${"A".repeat(43)}`],
      ["history"],
      ["round", "wish", "agent:bob-agent"],
      ["evidence"],
      ["export", "agent:bob-agent"],
    ];
    for (const command of words) {
      const ended = await runHere([...command, "--state", state, "--json"]);
      expect([command, ended.code, ended.stdout]).toEqual([command, 3, ""]);
      expect(failureOf(ended)).toMatchObject({
        reason: "daemon-not-running",
        next: `Start it with \`social-harness daemon --state ${state}\`.`,
      });
    }
    const plain = await run(["status", "--state", state]);
    expect(plain.stderr).toBe(
      `error: no daemon runs on ${state}\n  Start it with \`social-harness daemon --state ${state}\`.\n`,
    );
  });

  verifies("RUN-18", "what is mistyped is wrong usage, whether or not a daemon runs", async () => {
    const state = join(temporaryFolder(), "none");
    const wrong: ReadonlyArray<readonly [ReadonlyArray<string>, RegExp]> = [
      [["send", "bob-agent", "x"], /write agent:bob-agent/],
      [["send", "bob@example.org", "x"], /Write agent:<name>/],
      [["send", "agent:Bob", "x"], /3 to 32 of a-z/],
      [["send", "agent:", "x"], /3 to 32 of a-z/],
      [["send", "group:bob-agent,,cyd-agent", "x"], /3 to 32 of a-z/],
      [["send", "agent:bob-agent", ""], /pipe it in/],
      [["send", "agent:bob-agent", "x", "--key", ""], /1 to 128 bytes/],
      [["send", "agent:bob-agent", "x", "--key", "é".repeat(65)], /1 to 128 bytes/],
      [["history", "bob-agent"], /write agent:bob-agent/],
      [["history", "group:cyd-agent,bob-agent,ada-agent"], /write group:ada-agent,bob-agent,cyd-agent\./],
      [["history", "group:bob-agent,cyd-agent"], /yourself included/],
      [["history", "agent:bob-agent", "--after", "rch_x"], /43 characters/],
      [["history", "--after", `rch_${"A".repeat(43)}`], /address/],
      [["export", "agent:B"], /3 to 32 of a-z/],
      [["withdraw", "pst_x"], /43 characters/],
      [["withdraw", "agent:bob-agent"], /pst_/],
      [["round", "wish", "bob-agent"], /write agent:bob-agent/],
      [["round", "wish", "cnv_short"], /Write agent:<name>/],
      [["move", "shn1_x"], /copy all of it/],
      [["ack", `dlv_${"A".repeat(43)}`, "dlv_short"], /43 characters/],
      [["inbox", "--cursor", "x"], /first page/],
      [["inbox", "--follow", "--cursor", "x"], /one of them/],
      [["agents", "--name", "Ada"], /3 to 32 of a-z/],
      [["agents", "--id", "agt_x"], /--name/],
      [["agents", "--prefix", "A"], /a-z/],
      [["agents", "--after", "A"], /3 to 32 of a-z/],
    ];
    for (const [words, next] of wrong) {
      const ended = await runHere([...words, "--state", state, "--json"]);
      expect([words, ended.code, failureOf(ended)]).toEqual([
        words,
        2,
        { reason: "usage", message: expect.any(String), next: expect.stringMatching(next) },
      ]);
    }
  });

  verifies("RUN-30", "what needs keys says to join first, and makes nothing", async () => {
    const state = join(temporaryFolder(), "none");
    for (const [command, code] of [
      ["daemon", 1],
      ["status", 3],
      ["inbox", 3],
    ] as const) {
      const ended = await runHere([command, "--state", state, "--json"]);
      expect([command, ended.code]).toEqual([command, code]);
      expect(failureOf(ended)).toMatchObject({
        message: expect.stringContaining("no keys yet"),
        next: `Join a network first: \`social-harness join <invite> --name <agent> --state ${state}\`.`,
      });
      expect(existsSync(state)).toBe(false);
    }
  });

  test("the groups of commands and the top show an example too", async () => {
    for (const words of [[], ["network"], ["network", "invite"], ["round"]]) {
      const { code, stdout } = await runHere([...words, "--help"]);
      expect([words, code]).toEqual([words, 0]);
      expect(stdout).toContain(["  $ social-harness", ...words].join(" "));
    }
  });

  test("the environment chooses the folder where no flag does", async () => {
    const state = temporaryFolder();
    const named = await run(["status", "--json"], { env: { SOCIAL_HARNESS_STATE: state } });
    expect(failureOf(named).message).toContain(state);
    const profile = await run(["status", "--profile", "work", "--json"], {
      env: { XDG_STATE_HOME: state, SOCIAL_HARNESS_STATE: "/elsewhere" },
    });
    expect(failureOf(profile).message).toContain(join(state, "social-harness", "work"));
  });

  verifies(
    "RUN-305",
    "an empty or relative home is refused, and nothing is made in the current folder",
    async () => {
      const unset = { SOCIAL_HARNESS_STATE: "", XDG_STATE_HOME: "", XDG_CACHE_HOME: "" };
      const words = [
        ["init"],
        ["status"],
        ["daemon"],
        ["network", "start", "--listen", "127.0.0.1:0"],
        ["network", "show"],
        ["network", "invite", "list"],
      ];
      for (const [name, value] of Object.entries({ ...unset, HOME: "" })) vi.stubEnv(name, value);
      onTestFinished(() => void vi.unstubAllEnvs());
      for (const command of words) {
        const refused = await runHere([...command, "--json"]);
        expect([command, refused.code]).toEqual([command, 2]);
        expect(failureOf(refused).message).toContain("HOME is empty or no whole path");
      }
      // A relative one is another folder in each folder, too.
      for (const env of [{ HOME: "" }, { HOME: "home", XDG_STATE_HOME: "state", XDG_CACHE_HOME: "cache" }]) {
        const cwd = temporaryFolder();
        const options = { env: { ...unset, ...env }, cwd };
        expect((await run(["init", "--json"], options)).code).toBe(2);
        expect((await run(["init", "--state", join(cwd, "named"), "--json"], options)).code).toBe(0);
        expect(readdirSync(cwd)).toEqual(["named"]);
      }
    },
  );

  verifies("RUN-14", "a Node older than 24 is told so in one line", async () => {
    const older = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'22.1.0'})";
    const { code, stdout, stderr } = await run(["status"], {
      nodeOptions: ["--import", older],
      entry: join(repositoryRoot, "packages/cli/bin/social-harness.js"),
    });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^error: social-harness needs Node 24 or newer, and this is .*\n$/);
  });

  test("the launcher that an old Node must read has no syntax of a newer one", () => {
    const text = readFileSync(join(repositoryRoot, "packages/cli/bin/social-harness.js"), "utf8");
    expect(text).not.toMatch(/\?\.|\?\?|: (string|number)|interface /);
  });
});
