// Waiting for what real sockets and processes bring about: a condition that is looked at again and again, and a failure
// that names it when it does not come true in time.

const lookMs = 5;
const waitMsDefault = 30_000;

/** Resolves as soon as `condition` holds; rejects with `what` after `waitMs`. */
export const until = async (
  what: string,
  condition: () => boolean,
  waitMs = waitMsDefault,
): Promise<void> => {
  const deadline = Date.now() + waitMs;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`waited ${waitMs} ms in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
};
