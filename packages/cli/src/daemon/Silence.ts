// A daemon that holds its folder and answers nobody: it stands still, or is stuck. Starting another one would be refused,
// so whoever was not answered is told of the one that is there. Implements RUN-266.

import process from "node:process";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { Failure } from "../Failure.ts";
import * as Holding from "./Holding.ts";

/** The process that holds the folder and said that it is ready, where it is another one. */
export const holderOf = (folder: StateFolder.StateFolder): number | null => {
  const holder = Holding.writtenIn(folder) === null ? null : Holding.holderOf(folder);
  return holder?.kind === "process" && holder.pid !== process.pid ? holder.pid : null;
};

/** What a request to the daemon of that folder failed with, in better words where the daemon is there all the same. */
export const explained = (path: string, failure: unknown): unknown => {
  if (!(failure instanceof Failure) || failure.reason !== "daemon-unreachable") return failure;
  const folder = StateFolder.at(path);
  const holder = holderOf(folder);
  if (holder === null) return failure;
  return failure.with({
    message: `the daemon of ${folder.path} runs with pid ${holder} and does not answer`,
    next: `Try again in a moment. If it stays so, \`social-harness daemon --replace\` takes its place; where that says that it does not stop, kill -9 ${holder} ends it, which loses nothing.`,
  });
};
