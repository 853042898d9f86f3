// Turns what dependencies throw into the closed reasons of an operation. Everything it does not know stays a defect.

import { RegistryError } from "@social-harness/registry/client/RegistryError";
import { isStoreFailure } from "../store/Database.ts";
import { OperationError, type Reason } from "./OperationError.ts";

/** Runs `body`; a failing store becomes `persistence-failed`, an unreachable or lying Registry `dependency-unavailable`. */
export const withReasons = async <A>(body: () => Promise<A>): Promise<A> => {
  try {
    return await body();
  } catch (error) {
    throw reasoned(error);
  }
};

export const withReasonsSync = <A>(body: () => A): A => {
  try {
    return body();
  } catch (error) {
    throw reasoned(error);
  }
};

const reasoned = (error: unknown): unknown => {
  const fail = (reason: Reason, message: string): OperationError =>
    new OperationError(reason, message, { cause: error });
  if (isStoreFailure(error))
    return fail("persistence-failed", "the store could not do its work; see the log");
  if (error instanceof RegistryError) return fail("dependency-unavailable", error.message);
  return error;
};
