// Reads the project's own vectors, and the published suites where the folder that holds them stands beside the repository.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const repositoryRoot = join(import.meta.dirname, "..", "..", "..", "..");
export const vectorsFolder = join(repositoryRoot, "vectors");

const publishedFolder = join(repositoryRoot, "..", "shared", "data", "vectors");

/** Whether the published suites are absent, and a note for the title of the tests that are then skipped. */
export const publishedAbsent = !existsSync(publishedFolder);
export const publishedNote = publishedAbsent
  ? "published suites (skipped: the folder of published vectors is not beside the repository)"
  : "published suites";

export const publishedPath = (...names: ReadonlyArray<string>): string => join(publishedFolder, ...names);
export const published = (...names: ReadonlyArray<string>): Buffer => readFileSync(publishedPath(...names));

export const text = (name: string): string => readFileSync(join(vectorsFolder, name), "utf8");
export const json = <Shape>(name: string): Shape => JSON.parse(text(name)) as Shape;

/** The spellings of a list file: one a line, each line ended by LF. */
export const lines = (name: string): ReadonlyArray<string> => text(name).split("\n").slice(0, -1);

export const hex = (digits: string): Buffer => Buffer.from(digits, "hex");
