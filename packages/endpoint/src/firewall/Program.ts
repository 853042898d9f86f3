// Whether the files that a checker's command is made of are there. Only looks: a program that is there can still fail, and then
// what it should have checked is held. Implements ING-220.

import { accessSync, constants, statSync } from "node:fs";

const isRunnable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
};

/** The first that is missing, by its place in the command and never by its name; null where all of them are there. */
export const missing = ([program = "", ...words]: ReadonlyArray<string>): string | null => {
  if (!isRunnable(program)) return "checker.command, entry 1: no program that can be run is there";
  const index = words.findIndex(
    (word) => word.startsWith("/") && statSync(word, { throwIfNoEntry: false }) === undefined,
  );
  return index === -1 ? null : `checker.command, entry ${index + 2}: no file is there`;
};
