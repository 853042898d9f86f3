// Whom to tell of a request that was answered, where somebody wants traces. Attributes are counts and closed words.

export interface Span {
  readonly name: string;
  /** Both in epoch milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number;
  /** Why it failed, in a closed word; null when it did not. */
  readonly failed: string | null;
  readonly attributes: Readonly<Record<string, string | number>>;
}

export type Tracer = (span: Span) => void;
