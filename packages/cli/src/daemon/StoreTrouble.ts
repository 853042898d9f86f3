// Why the store of a running endpoint could not do what a command asked for. A tool gives one reason for all of its
// troubles; the daemon's own standing knows which it is. Implements RUN-267.

import * as StoreFault from "@social-harness/endpoint/store/StoreFault";
import { Failure, sentence } from "../Failure.ts";
import type { Served } from "./OwnerCall.ts";
import * as Readiness from "./Readiness.ts";

const explained = async (served: Served, failure: Failure): Promise<Failure> => {
  const health = await Readiness.read(served).catch(() => null);
  const fault = health?.storeTrouble?.reason;
  if (fault === undefined || !StoreFault.is(fault)) return failure;
  const { what, next } = StoreFault.words(fault);
  return failure.with({
    message: what,
    next: `${sentence(next)} Then repeat the command, a \`send\` under the same --key.`,
  });
};

/** What `work` resolves with. A failure of the store is told with its cause, for as long as the cause lasts. */
export const explaining = async <A>(served: Served, work: () => Promise<A>): Promise<A> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Failure) || error.reason !== "persistence-failed") throw error;
    throw await explained(served, error);
  }
};
