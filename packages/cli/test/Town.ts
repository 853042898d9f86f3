// A network of its own for the tests of one file, and shorthands for what people do in it.

import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { failureOf, lastJson, runHere, serve, temporaryFolder, type Served } from "./Binary.ts";

export const root = temporaryFolder();
export const data = join(root, "net");

/** Known when the file's tests begin. */
export let network: Served;
export let invite: string;

export const json = async (...words: ReadonlyArray<string>) => lastJson(await runHere([...words, "--json"]));

/** The exit code and reason of a command that fails. */
export const refusal = async (...words: ReadonlyArray<string>): Promise<readonly [number | null, string]> => {
  const ended = await runHere([...words, "--json"]);
  return [ended.code, failureOf(ended).reason];
};

export const freshInvite = async (uses = 1): Promise<string> =>
  (await json("network", "invite", "create", "--data", data, "--uses", `${uses}`))["invite"] as string;

export const joined = (state: string, name: string, by = invite) =>
  json("join", by, "--name", name, "--state", state);

export const startDaemon = (state: string): Promise<Served> =>
  serve(["daemon", "--state", state, "--port", "0", "--json"]);

beforeAll(async () => {
  network = await serve(["network", "start", "--data", data, "--listen", "127.0.0.1:0", "--json"]);
  invite = await freshInvite(20);
});

afterAll(async () => {
  expect(await network.stop()).toBe(0);
});
