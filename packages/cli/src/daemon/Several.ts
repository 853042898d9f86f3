// One command about several ids: all are looked up before anything is done with the first, so that a mistyped one among them
// stops the command while nothing has changed. Implements ING-227.

import { Failure } from "../Failure.ts";

/** Rejects with the failure of the first id that cannot be looked up, told by its place; one alone needs no look. */
export const lookUp = async <Id>(
  ids: ReadonlyArray<Id>,
  one: (id: Id) => Promise<unknown>,
): Promise<void> => {
  if (ids.length === 1) return;
  for (const [index, id] of ids.entries()) {
    try {
      await one(id);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      throw error.with({
        message: `number ${index + 1} of ${ids.length}: ${error.message}`,
        next: `Nothing was done with any of them. ${error.next}`,
      });
    }
  }
};
