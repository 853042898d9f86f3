import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { afterEach, beforeEach, expect } from "vitest";
import * as Configuration from "../../src/state/Configuration.ts";
import * as StateFolder from "../../src/state/StateFolder.ts";

let root: string;
let folder: StateFolder.StateFolder;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "social-harness-configuration-"));
  folder = StateFolder.open(join(root, "state"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const key = Buffer.alloc(32, 5).toString("base64url");
const network = {
  registryUrl: "https://registry.example",
  routerUrl: "wss://router.example",
  registryKey: key,
  routerKey: key,
};
const file = (values: object): string => JSON.stringify({ ...network, ...values });
const issuesOf = (sources: Configuration.Sources): ReadonlyArray<Configuration.ConfigurationIssue> => {
  try {
    Configuration.resolve(sources);
    return [];
  } catch (error) {
    return (error as Configuration.ConfigurationError).issues;
  }
};
const pathsOf = (sources: Configuration.Sources) => issuesOf(sources).map(({ path }) => path);

verifies("RUN-24", "what nobody sets has a default", () => {
  expect(Configuration.resolve({ file: file({}) })).toEqual({
    ...network,
    port: 7_431,
    mode: "trusted-local",
    logLevel: "info",
    contacts: "everyone",
    blocked: [],
  });
});

verifies("RUN-24", "flags win over variables, variables over the file", () => {
  const environment = { SOCIAL_HARNESS_PORT: "2", SOCIAL_HARNESS_LOG_LEVEL: "warn", HOME: "/x" };
  const inFile = file({ port: 1, logLevel: "error", agentName: "alice" });
  const resolved = Configuration.resolve({ file: inFile, environment, flags: { port: "3" } });
  expect([resolved.port, resolved.logLevel, resolved.agentName]).toEqual([3, "warn", "alice"]);
  const unset = Configuration.resolve({ file: inFile, environment, flags: { port: undefined } });
  expect(unset.port).toBe(2);
  expect(Configuration.resolve({ file: null, flags: { ...network, port: 0 } }).port).toBe(0);
});

verifies("RUN-24", "every complaint names the flag, variable or field, and all come at once", () => {
  expect(
    pathsOf({
      file: file({ logLevel: "loud", colour: "red", routerKey: 5 }),
      environment: { SOCIAL_HARNESS_PORT: "70000", SOCIAL_HARNESS_PROT: "1", SOCIAL_HARNESS_STATE: "/s" },
      flags: { agentName: "Not A Name" },
    }).toSorted(),
  ).toEqual([
    "--agent-name",
    "SOCIAL_HARNESS_PORT",
    "SOCIAL_HARNESS_PROT",
    "config.json: colour",
    "config.json: logLevel",
    "config.json: routerKey",
  ]);
});

verifies("RUN-24", "a network that was never joined is said to be missing, with the next step", () => {
  const issues = issuesOf({ file: null });
  expect(issues.map(({ path }) => path)).toEqual([
    "config.json: registryUrl",
    "config.json: routerUrl",
    "config.json: registryKey",
    "config.json: routerKey",
  ]);
  expect(issues[0]?.message).toContain("--registry-url");
  for (const broken of ["", "{", "[]", "null", '"text"']) {
    expect(pathsOf({ file: broken })).toEqual(["config.json"]);
  }
});

verifies("RUN-26", "plain http and ws are good on loopback only", () => {
  const good = [
    { registryUrl: "http://127.0.0.1:8080", routerUrl: "ws://127.0.0.1:8081" },
    { registryUrl: "http://localhost:8080", routerUrl: "ws://localhost:8081" },
    { registryUrl: "http://[::1]:8080", routerUrl: "ws://[::1]:8081" },
  ];
  for (const urls of good) expect(issuesOf({ file: file(urls) })).toEqual([]);
  const bad = [
    { registryUrl: "http://registry.example" },
    { registryUrl: "http://127.0.0.1.evil.example" },
    { registryUrl: "http://192.168.0.4:8080" },
    { registryUrl: "ftp://registry.example" },
    { registryUrl: "https://user:password@registry.example" },
    { registryUrl: "registry.example" },
  ];
  for (const urls of bad) expect(pathsOf({ file: file(urls) })).toEqual(["config.json: registryUrl"]);
  expect(pathsOf({ file: file({ routerUrl: "ws://router.example" }) })).toEqual(["config.json: routerUrl"]);
});

verifies("RUN-24", "ports are whole numbers from 0 to 65535, in digits where they are text", () => {
  for (const port of ["0", "7431", "65535"]) {
    expect(Configuration.resolve({ file: file({}), flags: { port } }).port).toBe(Number(port));
  }
  for (const port of ["", " 1", "1 ", "-1", "0x10", "1e3", "1.5", "65536", "99999", "123456", "٣"]) {
    expect(pathsOf({ file: file({}), flags: { port } })).toEqual(["--port"]);
  }
  for (const port of ["7431", 1.5, -1, 65_536, null]) {
    expect(pathsOf({ file: file({ port }) })).toEqual(["config.json: port"]);
  }
});

verifies(
  "RUN-31",
  "contacts are one of two words or a list of names, and so are the blocked, in every source",
  () => {
    const policyOf = (sources: Configuration.Sources) => {
      const { contacts, blocked } = Configuration.resolve({ file: file({}), ...sources });
      return { contacts, blocked };
    };
    const some = { contacts: ["ann", "bob"], blocked: ["cyd"] };
    expect(policyOf({ file: file(some) })).toEqual(some);
    expect(
      policyOf({ environment: { SOCIAL_HARNESS_CONTACTS: "ann,bob", SOCIAL_HARNESS_BLOCKED: "cyd" } }),
    ).toEqual(some);
    expect(policyOf({ flags: { contacts: "ann,bob", blocked: "cyd" } })).toEqual(some);
    for (const contacts of ["everyone", "known"] as const) {
      expect(policyOf({ file: file({ contacts }) }).contacts).toBe(contacts);
      expect(policyOf({ environment: { SOCIAL_HARNESS_CONTACTS: contacts } }).contacts).toBe(contacts);
      expect(policyOf({ flags: { contacts } }).contacts).toBe(contacts);
    }
    // Nobody at all is a list too, and one source replaces the list of another.
    const nobody = { contacts: "nobody", blocked: "nobody" };
    const none = { contacts: [], blocked: [] };
    expect(policyOf({ file: file(some), flags: nobody })).toEqual(none);
    expect(policyOf({ file: file(nobody) })).toEqual(none);
    expect(policyOf({ file: file(none) })).toEqual(none);
    expect(
      policyOf({
        file: file(some),
        environment: { SOCIAL_HARNESS_CONTACTS: "nobody", SOCIAL_HARNESS_BLOCKED: "nobody" },
      }),
    ).toEqual(none);
    expect(
      policyOf({
        file: file(some),
        environment: { SOCIAL_HARNESS_CONTACTS: "known", SOCIAL_HARNESS_BLOCKED: "dan" },
        flags: { contacts: "eve" },
      }),
    ).toEqual({ contacts: ["eve"], blocked: ["dan"] });
  },
);

verifies("RUN-31", "what is neither of the two words nor a list of names is refused where it stands", () => {
  const names = Array.from({ length: 1_000 }, (_, i) => `agent-${i}`);
  expect(issuesOf({ file: file({ blocked: names, contacts: names }) })).toEqual([]);
  for (const contacts of ["ann", "Known", "", 5, null, ["Not A Name"], [["ann"]], [...names, "ann"]]) {
    const paths = pathsOf({ file: file({ contacts }) });
    expect(paths.length).toBeGreaterThan(0);
    for (const path of paths) expect(path).toMatch(/^config\.json: contacts(\.\d+)?$/);
  }
  for (const blocked of ["everyone", "ann", {}, null, ["ann", "Bob"], [...names, "ann"]]) {
    const paths = pathsOf({ file: file({ blocked }) });
    expect(paths.length).toBeGreaterThan(0);
    for (const path of paths) expect(path).toMatch(/^config\.json: blocked(\.\d+)?$/);
  }
  expect(pathsOf({ file: file({}), flags: { contacts: "ann, bob", blocked: "agent:ann" } })).toEqual([
    "--contacts.1",
    "--blocked.0",
  ]);
  expect(
    pathsOf({
      file: file({}),
      environment: { SOCIAL_HARNESS_CONTACTS: "Everyone", SOCIAL_HARNESS_BLOCKED: "a b" },
    }),
  ).toEqual(["SOCIAL_HARNESS_CONTACTS.0", "SOCIAL_HARNESS_BLOCKED.0"]);
});

verifies(
  ["RUN-90", "RUN-91"],
  "a word that stands for people is no name in a list, and an empty text is no list",
  () => {
    for (const list of ["everyone,bob-agent", "bob-agent,known", "nobody,nobody"]) {
      for (const field of ["contacts", "blocked"]) {
        const [issue] = issuesOf({ file: file({}), flags: { [field]: list } });
        expect(issue?.path).toMatch(new RegExp(`^--${field}\\.[01]$`));
        expect(issue?.message).toContain("everyone, known, nobody stand alone");
      }
    }
    for (const blocked of ["everyone", "known", ["everyone"]]) {
      expect(pathsOf({ file: file({ blocked }) })).toHaveLength(1);
    }
    expect(pathsOf({ file: file({}), flags: { blocked: "everyone" } })).toEqual(["--blocked"]);
    for (const empty of ["", ","]) {
      const paths = pathsOf({
        file: file({}),
        environment: { SOCIAL_HARNESS_CONTACTS: empty },
        flags: { blocked: empty },
      });
      expect(new Set(paths.map((path) => path.replace(/\.\d$/, "")))).toEqual(
        new Set(["SOCIAL_HARNESS_CONTACTS", "--blocked"]),
      );
    }
  },
);

verifies("RUN-91", "every complaint says what may stand there, in words and without a pattern", () => {
  const wrong = {
    registryUrl: 1,
    routerUrl: "x",
    registryKey: "x",
    routerKey: "x",
    admission: "x",
    agentName: "X",
    port: "x",
    mode: "x",
    logLevel: "x",
    contacts: "Known",
    blocked: "x",
    colour: "red",
  };
  const issues = issuesOf({ file: JSON.stringify(wrong) });
  expect(issues.map(({ path }) => path).toSorted()).toEqual(
    Object.keys(wrong)
      .map((field) => `config.json: ${field}`)
      .toSorted(),
  );
  for (const { message } of issues) expect(message).toMatch(/expected [^^]{4,}$/);
  const messageOf = (field: string) => issues.find(({ path }) => path === `config.json: ${field}`)?.message;
  expect(messageOf("contacts")).toBe(
    'expected everyone, known or nobody, or a list of 1 to 1000 agents\' names as in ["bob-agent", "carol-agent"]',
  );
  expect(issuesOf({ file: file({}), flags: { contacts: "" } })[0]?.message).toMatch(
    /^expected everyone, known or nobody, .* with commas between them$/,
  );
  expect(messageOf("logLevel")).toBe("expected debug, info, warn or error");
  expect(messageOf("colour")).toMatch(/^there is no such setting, expected one of registryUrl, routerUrl, /);
  expect(issuesOf({ file: file({}), environment: { SOCIAL_HARNESS_PROT: "1" } })[0]?.message).toContain(
    "SOCIAL_HARNESS_PORT",
  );
});

verifies(
  "RUN-293",
  "a variable that there is not is told those that there are, with those of the folder",
  () => {
    const [issue] = issuesOf({ file: file({}), environment: { SOCIAL_HARNESS_PRT: "7" } });
    expect(issue?.path).toBe("SOCIAL_HARNESS_PRT");
    for (const name of ["SOCIAL_HARNESS_PORT", "SOCIAL_HARNESS_STATE", "SOCIAL_HARNESS_PROFILE"])
      expect(issue?.message).toContain(name);
  },
);

verifies("RUN-31", "a policy that was chosen is saved, and the default leaves nothing behind", () => {
  const saved = (values: object): unknown => {
    const configuration = Configuration.resolve({ file: file(values) });
    Configuration.save(folder, configuration);
    expect(Configuration.load(folder, {})).toEqual(configuration);
    return JSON.parse(readFileSync(folder.configuration, "utf8"));
  };
  expect(saved({ contacts: "everyone", blocked: [] })).toEqual(network);
  for (const chosen of [
    { contacts: "known", blocked: ["ann"] },
    { contacts: [] },
    { contacts: ["ann", "bob"] },
  ]) {
    expect(saved(chosen)).toEqual({ ...network, ...chosen });
  }
});

verifies("RUN-24", "no complaint repeats a value, whatever the sources hold", () => {
  const secret = "adm_do-not-repeat-me";
  const values = fc.dictionary(fc.constantFrom("admission", "port", "agentName", "x"), fc.constant(secret));
  fc.assert(
    fc.property(values, values, (inFile, flags) => {
      const issues = issuesOf({ file: file(inFile), flags: flags as never });
      expect(JSON.stringify(issues)).not.toContain(secret);
    }),
  );
});

verifies("RUN-24", "what is saved loads as it was, and reads well", () => {
  const configuration = Configuration.resolve({ file: file({ agentName: "alice", port: 0 }) });
  Configuration.save(folder, configuration);
  expect(Configuration.load(folder, {})).toEqual(configuration);
  expect(JSON.parse(readFileSync(folder.configuration, "utf8"))).toEqual({
    ...network,
    agentName: "alice",
    port: 0,
  });
  writeFileSync(folder.configuration, "{}");
  expect(() => Configuration.load(folder, {})).toThrow(Configuration.ConfigurationError);
});
