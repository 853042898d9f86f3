// The systemd manager of a user: the unit of a daemon, and the commands that put it in force.

import { join } from "node:path";
import { capture } from "./Capture.ts";
import type { Manager, Service } from "./Service.ts";

/** A word of ExecStart or Environment: systemd expands % itself, and $ in the words of a command. */
const quoted = (text: string): string =>
  `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%")}"`;
/** The program itself is no place for variables, so $ means itself there. */
const commandOf = ([program = "", ...words]: ReadonlyArray<string>): string =>
  [quoted(program), ...words.map((word) => quoted(word).replaceAll("$", "$$$$"))].join(" ");

/** The words of a command that `commandOf` wrote. */
const commandIn = (text: string): Service["command"] => {
  const line = /^ExecStart=(.*)$/m.exec(text)?.[1] ?? "";
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = ""], index) => {
    const plain = word.replaceAll(/\\(.)/g, "$1").replaceAll("%%", "%");
    return index === 0 ? plain : plain.replaceAll("$$", () => "$");
  });
};

/**
 * Tried for ever, and soon once a minute alone: a full disk, a port or a folder that another program has, a Node that is just being
 * installed, and a setting that its owner corrects are over without anybody saying so to systemd. Nothing mends a wrong command
 * line or a Node that is too old (2), nor a flag that this Node does not know (9). The two lines about steps are for systemd 254
 * and newer; an older one says that it does not know them, and tries every five seconds.
 */
const textOf = ({
  state,
  command,
  environment,
}: Service): string => `# Written by \`social-harness service install\`.
[Unit]
Description=Social Harness endpoint (${state.replaceAll("%", "%%")})
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${commandOf(command)}
${Object.entries(environment)
  .map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}\n`)
  .join("")}Restart=on-failure
RestartSec=5
RestartSteps=4
RestartMaxDelaySec=60
RestartPreventExitStatus=2 9
TimeoutStopSec=10
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
`;

const unitOf = (name: string): string => `${name}.service`;
const user = (...words: ReadonlyArray<string>): ReadonlyArray<string> => ["systemctl", "--user", ...words];

const properties = ["ActiveState", "SubState", "MainPID", "UnitFileState"] as const;

const standing: Manager["standing"] = async (name) => {
  const answer = await capture(user("show", unitOf(name), ...properties.map((one) => `--property=${one}`)));
  if (!answer.ok) return { active: null, enabled: null, pid: null, detail: answer.why };
  const found = new Map(
    answer.text.split("\n").map((line) => {
      const [property = "", ...rest] = line.split("=");
      return [property, rest.join("=")] as const;
    }),
  );
  const pid = Number(found.get("MainPID") ?? 0);
  return {
    active: found.get("ActiveState") === "active",
    enabled: found.get("UnitFileState") === "enabled",
    pid: pid > 0 ? pid : null,
    detail: `${found.get("ActiveState") ?? "unknown"} (${found.get("SubState") ?? "unknown"})`,
  };
};

/** `configHome`: `$XDG_CONFIG_HOME`, or what stands for it. */
export const create = (configHome: string): Manager => ({
  kind: "systemd",
  pathOf: (name) => join(configHome, "systemd", "user", unitOf(name)),
  textOf,
  commandIn,
  starting: (name) => [user("daemon-reload"), user("enable", unitOf(name)), user("restart", unitOf(name))],
  stopping: (name) => [user("disable", "--now", unitOf(name))],
  linksOf: (name) => [join(configHome, "systemd", "user", "default.target.wants", unitOf(name))],
  afterRemoval: [user("daemon-reload")],
  standing,
  unasked:
    "systemd of a user answers in a log-in of that user alone: log in as the user (ssh, or `machinectl shell USER@`; not su), or, where one is logged in or lingers (`loginctl enable-linger USER`), first `export XDG_RUNTIME_DIR=/run/user/$(id -u)`. A server or a container may want a unit of the system instead: docs/installing.md has one.",
  advice: "It runs while you are logged in. To have it run always: loginctl enable-linger",
});
