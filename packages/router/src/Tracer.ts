// Whom to tell of a piece of work that is over, where somebody wants traces. Attributes are counts and closed words, never a
// content, an address of a callback or a secret.

export interface Span {
  /** A word of the program. */
  readonly name: string;
  /** Both in epoch milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** Why it failed, in a closed word; null when it did not. */
  readonly failed: string | null;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** The post that it is about: what is about the same one is one trace. */
  readonly postId?: string;
}

export type Tracer = (span: Span) => void;
