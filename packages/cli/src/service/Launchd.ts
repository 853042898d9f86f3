// The launchd manager of a user: the property list of a daemon, and the commands that put it in force.

import { join } from "node:path";
import { capture } from "./Capture.ts";
import type { Manager, Service } from "./Service.ts";

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const plain = (text: string): string =>
  text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
const string = (text: string): string => `<string>${escaped(text)}</string>`;

/**
 * Numbers are decimal there: 63 is 0077. launchd tries for ever and knows no exit codes to leave alone, so it tries twice a minute
 * at most; after a longer run it starts at once. What the daemon says on its outputs stands in its log as well, which has bounds; a
 * file of launchd's has none.
 */
const textOf = ({ name, command, environment }: Service): string => {
  const variables = Object.entries(environment)
    .map(([variable, value]) => `\n    <key>${escaped(variable)}</key>${string(value)}`)
    .join("");
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>${string(name)}
  <key>ProgramArguments</key>
  <array>${command.map((word) => `\n    ${string(word)}`).join("")}
  </array>
  <key>EnvironmentVariables</key>
  <dict>${variables}
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key><false/>
  </dict>
  <key>ThrottleInterval</key><integer>30</integer>
  <key>ExitTimeOut</key><integer>10</integer>
  <key>Umask</key><integer>63</integer>
  <key>StandardOutPath</key><string>/dev/null</string>
  <key>StandardErrorPath</key><string>/dev/null</string>
</dict>
</plist>
`;
};

const commandIn = (text: string): Service["command"] => {
  const words = /<key>ProgramArguments<\/key>\s*<array>([^]*?)<\/array>/.exec(text)?.[1] ?? "";
  return [...words.matchAll(/<string>([^<]*)<\/string>/g)].map(([, word = ""]) => plain(word));
};

/** `uid`: whose session it is. */
export const create = (home: string, uid: number): Manager => {
  const domain = `gui/${uid}`;
  const pathOf = (name: string): string => join(home, "Library", "LaunchAgents", `${name}.plist`);
  return {
    kind: "launchd",
    pathOf,
    textOf,
    commandIn,
    starting: (name) => [
      ["launchctl", "bootstrap", domain, pathOf(name)],
      ["launchctl", "kickstart", "-k", `${domain}/${name}`],
    ],
    stopping: (name) => [["launchctl", "bootout", `${domain}/${name}`]],
    linksOf: () => [],
    afterRemoval: [],
    standing: async (name) => {
      const answer = await capture(["launchctl", "print", `${domain}/${name}`]);
      if (!answer.ok && /could not find service/i.test(answer.why))
        return { active: false, enabled: false, pid: null, detail: "not loaded" };
      if (!answer.ok) return { active: null, enabled: null, pid: null, detail: answer.why };
      const state = /^\s*state = (.+)$/m.exec(answer.text)?.[1] ?? "unknown";
      const pid = /^\s*pid = (\d+)$/m.exec(answer.text)?.[1];
      return {
        active: state === "running",
        enabled: true,
        pid: pid === undefined ? null : Number(pid),
        detail: state,
      };
    },
    unasked:
      "launchd starts this in a session at the Mac itself: log in there as that user, not by ssh or su alone.",
    advice: "It runs while you are logged in.",
  };
};
