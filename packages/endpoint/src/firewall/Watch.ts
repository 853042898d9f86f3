// Looks at one private file again and again, and tells once it has changed and stayed so for a moment: a file that is being
// written, or is away while its replacement comes, is not a change yet. That there is none counts after seconds in which nothing
// came and went. Knows nothing of what stands in it. Implements ING-138, ING-243 and ING-244.

import { lstat, stat } from "node:fs/promises";
import { dirname } from "node:path";
import * as PrivateFile from "../state/PrivateFile.ts";
import { codeOf, StateError } from "../state/StateError.ts";
import * as Limits from "./Limits.ts";

export type Content =
  | { readonly kind: "absent" }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "unreadable"; readonly explanation: string };

export const read = (path: string): Content => {
  try {
    const text = PrivateFile.read(path, Limits.fileBytesMax);
    return text === null ? { kind: "absent" } : { kind: "text", text };
  } catch (error) {
    if (!(error instanceof StateError)) throw error;
    return { kind: "unreadable", explanation: error.message };
  }
};

const isSame = (a: Content, b: Content | null): boolean => {
  switch (a.kind) {
    case "absent":
      return b?.kind === "absent";
    case "text":
      return b?.kind === "text" && b.text === a.text;
    case "unreadable":
      return b?.kind === "unreadable" && b.explanation === a.explanation;
  }
};

/** What tells one state of a place from another without reading what is there. */
interface Mark {
  readonly isAbsent: boolean;
  readonly text: string;
}

/** Whatever comes to a folder or leaves it changes the folder's time: a file that was there between two looks as well. */
const absentMarkOf = async (path: string): Promise<Mark> => {
  try {
    await lstat(path);
    return { isAbsent: false, text: "a link to nothing" };
  } catch (error) {
    const { ino, mtimeMs } = await stat(dirname(path));
    return { isAbsent: codeOf(error) === "ENOENT", text: [codeOf(error), ino, mtimeMs].join() };
  }
};

const markOf = async (path: string): Promise<Mark> => {
  try {
    const { ino, size, mode, uid, mtimeMs, ctimeMs } = await stat(path);
    return { isAbsent: false, text: [ino, size, mode, uid, mtimeMs, ctimeMs].join() };
  } catch (error) {
    const text = codeOf(error) ?? "unknown";
    if (text !== "ENOENT") return { isAbsent: false, text };
    return absentMarkOf(path).catch(() => ({ isAbsent: false, text: "no folder" }));
  }
};

export interface WatchOptions {
  readonly path: string;
  /** As it was when watching begins; null where that is not sure, and told in any case. */
  readonly content: Content | null;
  readonly onChange: (content: Content) => void;
  readonly watchMs?: number;
  readonly settledMs?: number;
  readonly absentMs?: number;
}

/** Returns the function that ends it. */
export const start = ({ path, onChange, ...options }: WatchOptions): (() => void) => {
  const { watchMs = Limits.watchMs, settledMs = Limits.settledMs, absentMs = Limits.absentMs } = options;
  const absentLooks = Math.ceil(absentMs / settledMs);
  let { content } = options;
  let seen: string | null = null;
  let settling: string | null = null;
  let repeated = 0;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const look = async (): Promise<void> => {
    const { isAbsent, text: mark } = await markOf(path);
    if (closed) return;
    repeated = mark === settling ? repeated + 1 : 0;
    if (mark !== seen && repeated >= (isAbsent ? absentLooks : 1)) {
      const now = read(path);
      // What has come or gone since this look is for the next ones.
      if (isAbsent === (now.kind === "absent")) {
        seen = mark;
        const isChanged = !isSame(now, content);
        content = now;
        if (isChanged) onChange(now);
      }
    }
    settling = mark === seen ? null : mark;
    wait(settling === null ? watchMs : settledMs);
  };
  const wait = (ms: number): void => {
    timer = setTimeout(() => void look(), ms);
    timer.unref();
  };
  wait(settledMs);
  return () => {
    closed = true;
    clearTimeout(timer);
  };
};
