// Looks at one private file again and again, and tells once it has changed and stayed so for a moment: a file that is being
// written, or is away while its replacement comes, is not a change yet. Knows nothing of what stands in it. Implements ING-138.

import { stat } from "node:fs/promises";
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

const isSame = (a: Content, b: Content): boolean => {
  switch (a.kind) {
    case "absent":
      return b.kind === "absent";
    case "text":
      return b.kind === "text" && b.text === a.text;
    case "unreadable":
      return b.kind === "unreadable" && b.explanation === a.explanation;
  }
};

/** What tells one state of a file from another without reading it. */
const markOf = async (path: string): Promise<string> => {
  try {
    const { ino, size, mode, uid, mtimeMs, ctimeMs } = await stat(path);
    return [ino, size, mode, uid, mtimeMs, ctimeMs].join();
  } catch (error) {
    return codeOf(error) ?? "unknown";
  }
};

export interface WatchOptions {
  readonly path: string;
  /** As it was when watching begins. */
  readonly content: Content;
  readonly onChange: (content: Content) => void;
  readonly watchMs?: number;
  readonly settledMs?: number;
}

/** Returns the function that ends it. */
export const start = ({ path, onChange, ...options }: WatchOptions): (() => void) => {
  const { watchMs = Limits.watchMs, settledMs = Limits.settledMs } = options;
  let { content } = options;
  let seen: string | null = null;
  let settling: string | null = null;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const look = async (): Promise<void> => {
    const mark = await markOf(path);
    if (closed) return;
    const isSettled = mark === settling;
    if (mark !== seen && isSettled) {
      seen = mark;
      const now = read(path);
      const isChanged = !isSame(now, content);
      content = now;
      if (isChanged) onChange(now);
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
