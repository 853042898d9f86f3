// The Nodes on this machine's PATH that are older than what the command needs, what the command says on one, and how a
// program behaves that is started by its own first line with such a Node. Where there is none, their tests skip.

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import process from "node:process";
import { expect, type TestContext } from "vitest";
import { temporaryFolder } from "./Binary.ts";

export interface OlderNode {
  readonly path: string;
  /** With its "v". */
  readonly version: string;
}

const versionOf = (path: string): string => {
  try {
    return execFileSync(path, ["--version"], { encoding: "utf8", timeout: 20_000 }).trim();
  } catch {
    return "";
  }
};

const find = (): ReadonlyArray<OlderNode> => {
  const programs = (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, "node"))
    .filter((path) => existsSync(path));
  const different = new Map(programs.map((path) => [realpathSync(path), path]));
  return [...different.values()]
    .map((path) => ({ path, version: versionOf(path) }))
    .filter(({ version }) => Number(/^v(\d+)\./.exec(version)?.[1] ?? Infinity) < 24);
};

/** All of them; ends the test where there is none. */
export const olderNodes = ({ skip }: TestContext): ReadonlyArray<OlderNode> => {
  const nodes = find();
  skip(nodes.length === 0, "no Node on the PATH is older than 24");
  return nodes;
};

export const tooOld = (version: string) => ({
  reason: "node-too-old",
  message: `social-harness needs Node 24 or newer, and this is ${version}`,
  next: "install a newer one from https://nodejs.org",
});

export const withoutSqlite = {
  reason: "node-without-sqlite",
  message: "social-harness needs the SQLite that Node has, and this Node was built or started without it",
  next: "take --no-experimental-sqlite out of NODE_OPTIONS, or install Node from https://nodejs.org",
};

/** For a Node that is as it should be, and says that it is another. */
export const pretending = (version: string): ReadonlyArray<string> => {
  const script = `Object.defineProperty(process,"versions",{value:{...process.versions,node:"${version.slice(1)}"}});Object.defineProperty(process,"version",{value:"${version}"})`;
  return ["--import", `data:text/javascript,${encodeURIComponent(script)}`];
};

/** Everything that can be seen of one run; `written` is what then stands in the home and working folder, which was empty. */
export const startedWith = (node: OlderNode, program: string, words: ReadonlyArray<string>) => {
  const home = temporaryFolder();
  const { status, stdout, stderr } = spawnSync(program, words, {
    cwd: home,
    encoding: "utf8",
    env: { PATH: `${dirname(node.path)}${delimiter}/usr/bin${delimiter}/bin`, HOME: home, TMPDIR: home },
  });
  return { code: status, stdout, stderr, written: readdirSync(home) };
};

/** Each of them ends the program at once in one sentence, which is one JSON object where that is wanted. */
export const expectTooOld = (nodes: ReadonlyArray<OlderNode>, program: string): void => {
  for (const node of nodes) {
    const { message, next } = tooOld(node.version);
    const refused = { code: 2, stdout: "", stderr: `error: ${message}: ${next}\n`, written: [] };
    expect(startedWith(node, program, ["demo"])).toEqual(refused);
    const stderr = `${JSON.stringify({ error: tooOld(node.version) })}\n`;
    expect(startedWith(node, program, ["demo", "--json"])).toEqual({ ...refused, stderr });
  }
};
