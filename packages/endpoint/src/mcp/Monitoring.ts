// The paths that only show: that the process answers, whether the endpoint does what it is for, and what it counted. The owner
// sees at `/readyz` how it stands, in full; whoever measures it, under a token for that alone, a word: names and addresses are
// no measurements. Implements MGT-14, RUN-142, RUN-296 and RUN-297.

import type { IncomingMessage, ServerResponse } from "node:http";
import * as PrometheusText from "@social-harness/protocol/encoding/PrometheusText";
import * as Standing from "@social-harness/protocol/encoding/Standing";
import type { Logger } from "@social-harness/router/Logger";
import { type Health, unreadyCause } from "../operations/Health.ts";
import type { Owner } from "../operations/Owner.ts";
import { causeOf } from "../state/Log.ts";
import { isStoreFailure } from "../store/Database.ts";
import type { Caller, Monitor } from "./Caller.ts";
import * as Gate from "./Gate.ts";

export interface MonitoringOptions {
  /** Throws when the store cannot be read. */
  readonly health: () => Health;
  /** The same. */
  readonly owner: Pick<Owner, "metrics">;
  readonly logger: Logger;
}

const write = (outgoing: ServerResponse, status: number, type: string, text: string): void => {
  outgoing.writeHead(status, { "content-type": type, "cache-control": "no-store" });
  outgoing.end(text);
};

const writeStanding = (outgoing: ServerResponse, standing: Standing.Standing, details: object = {}): void =>
  write(outgoing, Standing.codeOf(standing), "application/json", JSON.stringify({ ...standing, ...details }));

/** What the endpoint says of itself while it stops. */
export const answerStopping = (outgoing: ServerResponse): void => {
  outgoing.setHeader("connection", "close");
  writeStanding(outgoing, Standing.of("stopping"));
};

export const answer = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  kind: (Caller | Monitor)["kind"],
  { health, owner, logger }: MonitoringOptions,
): void => {
  if (incoming.url === Gate.healthPath) return writeStanding(outgoing, Standing.ok);
  try {
    if (incoming.url === Gate.metricsPath)
      return write(outgoing, 200, PrometheusText.mediaType, owner.metrics());
    const standing = health();
    const details = kind === "owner" ? standing : {};
    return writeStanding(outgoing, Standing.of(unreadyCause(standing)), details);
  } catch (error) {
    if (!isStoreFailure(error)) logger("error", "the standing cannot be read", causeOf(error));
    return writeStanding(outgoing, Standing.of("store-unreadable"));
  }
};
