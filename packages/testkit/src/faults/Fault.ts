// What a run found to be wrong. Every oracle reports here, in sentences; a run is good when nothing was reported.

/** Sentences that are kept: one broken law tends to show itself everywhere. */
const keptMax = 40;

export class Faults {
  readonly #sentences: Array<string> = [];
  readonly #found = Promise.withResolvers<void>();

  add(sentence: string): void {
    if (this.#sentences.length < keptMax && !this.#sentences.includes(sentence))
      this.#sentences.push(sentence);
    this.#found.resolve();
  }

  get sentences(): ReadonlyArray<string> {
    return this.#sentences;
  }

  /** Resolves with the first fault: nothing that is waited for needs to be waited for any longer. */
  get found(): Promise<void> {
    return this.#found.promise;
  }
}
