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

/** A daemon that may not start as it is configured, or whose folder another one has, is tried a few times and then left. */
const textOf = ({
  state,
  command,
  environment,
}: Service): string => `# Written by \`social-harness service install\`.
[Unit]
Description=Social Harness endpoint of ${state.replaceAll("%", "%%")}
StartLimitIntervalSec=120
StartLimitBurst=10

[Service]
Type=exec
ExecStart=${commandOf(command)}
${Object.entries(environment)
  .map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}\n`)
  .join("")}Restart=on-failure
RestartSec=2
RestartPreventExitStatus=2
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
  afterRemoval: [user("daemon-reload")],
  standing,
  advice: "It runs while you are logged in. To have it run always: loginctl enable-linger",
});
