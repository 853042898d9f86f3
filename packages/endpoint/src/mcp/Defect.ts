// What nobody expected: its caller gets one word, the log gets the cause under an id that finds it there. Total, whatever was
// thrown, because it runs where there is nobody left to catch. Implements MGT-64 and MGT-142.

import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import type { Logger } from "@social-harness/router/Logger";
import { causeOf } from "../state/Log.ts";
import * as Failures from "./Failures.ts";
import { McpError } from "./McpError.ts";

export interface Witness {
  readonly logger: Logger;
  readonly random: (byteCount: number) => Uint8Array;
}

export const report = (
  event: string,
  error: unknown,
  { logger, random }: Witness,
  tool?: string,
): McpError => {
  const correlationId = Base64Url.encode(random(16));
  const named = tool === undefined ? {} : { tool };
  logger("error", event, { ...named, correlationId, ...causeOf(error) });
  return Failures.internal();
};

/** A handler whose defects are reported; what it says on purpose passes. */
export const guarded =
  <Args extends ReadonlyArray<unknown>, A>(
    event: string,
    witness: Witness,
    handler: (...args: Args) => A | Promise<A>,
  ): ((...args: Args) => Promise<A>) =>
  async (...args) => {
    try {
      return await handler(...args);
    } catch (error) {
      throw McpError.is(error) ? error : report(event, error, witness);
    }
  };
