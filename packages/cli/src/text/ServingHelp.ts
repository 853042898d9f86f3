// What stands under the --help of the two commands that go on until they are stopped, for whoever has them run by a supervisor: the
// environment, the exit codes, and which files must not be lost. Implements RUN-286.

type Rows = ReadonlyArray<readonly [name: string, meaning: string]>;

const columns = (title: string, rows: Rows): string => {
  const width = Math.max(...rows.map(([name]) => name.length));
  return `\n${title}:\n${rows.map(([name, meaning]) => `  ${name.padEnd(width)}  ${meaning}`).join("\n")}`;
};

const traces = ["OTEL_EXPORTER_OTLP_ENDPOINT", "turns traces on (docs/monitoring.md)"] as const;
const toldToStop = ["0", "it was told to stop: SIGTERM, SIGINT, SIGHUP"] as const;
const wrongUsage = [
  "2",
  "a wrong command line, or a Node that is too old: starting it again does not help",
] as const;

/** For `define`: of a command that does not end, its last line says little. */
export const servingJson = "print one JSON object, in one line, when it is ready; go on until it is stopped";

export const daemonHelp = [
  columns("Environment", [
    ["SOCIAL_HARNESS_STATE, SOCIAL_HARNESS_PROFILE", "the folder, where no flag names one"],
    [
      "SOCIAL_HARNESS_PORT, SOCIAL_HARNESS_MODE, ...",
      "each setting above; a flag wins, config.json comes last",
    ],
    ["NODE_EXTRA_CA_CERTS", "a file with the authority of the network's certificate"],
    ["HTTPS_PROXY, NO_PROXY", "used with NODE_USE_ENV_PROXY=1 alone"],
    traces,
  ]),
  columns("Exit codes", [
    toldToStop,
    ["1", "it cannot run, and says why: folder, keys, store, disk, port, config.json, another daemon"],
    wrongUsage,
  ]),
  `
Keep a copy of its folder's keys and store elsewhere, made by \`social-harness backup\`: nobody can make them again.
docs/installing.md is about servers, docs/operations.md about what can go wrong.`,
].join("\n");

export const networkHelp = [
  columns("Environment", [["XDG_STATE_HOME", "moves the folder, where --data names none"], traces]),
  columns("Exit codes", [
    toldToStop,
    ["1", "it cannot run, and says why: folder, keys, logs, disk, ports, certificate, another process"],
    wrongUsage,
  ]),
  columns("In its folder", [
    ["network.json", "the two keys. Keep a copy elsewhere: without it the network is lost"],
    ["registry.sqlite", "the list of names. Keep a copy: docs/spec/running.md says how"],
    ["router.sqlite", "what is under way. Never put an old copy back"],
    ["metrics-token", "opens GET /metrics of both services, and nothing else"],
  ]),
].join("\n");
