// What becomes of a command when stdout or stderr can no longer be written: their reader is gone, or their disk is full.
// Nothing that is said there is worth the process that says it. Implements RUN-330.

import process from "node:process";

let isServing = false;

const lost = (error: NodeJS.ErrnoException): void => {
  if (isServing) return;
  // A reader that has seen enough (`| head`) is no failure.
  if (error.code === "EPIPE") process.exit(0);
  process.stderr.write(`error: the result cannot be written (${error.code ?? error.name})\n`);
  process.exit(1);
};

/** Once, before anything is said. */
export const guard = (): void => {
  process.stdout.on("error", lost);
  process.stderr.on("error", () => {});
};

/** From now on the process is there for others than its reader. */
export const serve = (): void => {
  isServing = true;
};
