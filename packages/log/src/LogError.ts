// The closed errors of every log engine. A lost race or a repeated append is not among them: those are results.

/**
 * closed: the log was closed. unavailable: the engine could not do it now (disk full, locked, I/O), nothing was
 * appended. gone: its files were deleted, moved or replaced under it, nothing was appended. damaged: the file is no log or is corrupt. newer: a later version of this program wrote it. invalid: a name,
 * position, id or size out of bounds. unsupported: no such engine in this build, or a URL that names none.
 */
export type LogErrorReason =
  "closed" | "unavailable" | "gone" | "damaged" | "newer" | "invalid" | "unsupported";

export class LogError extends Error {
  override readonly name = "LogError";
  readonly reason: LogErrorReason;
  constructor(reason: LogErrorReason, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
  }
}
