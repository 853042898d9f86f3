// Traces for whoever has a collector, named by the standard OTEL_ variables. Without an endpoint among them nothing of this is
// loaded, and nobody takes a time. Implements RUN-154, RUN-155
// and RUN-278.

import type { Environment, Protocol, Traces } from "./OtlpTraces.ts";

/** The first is the standard's default. gRPC would be a library of its own. */
const protocols: readonly [Protocol, Protocol] = ["http/protobuf", "http/json"];

/** An empty variable counts as one that is not set: that is the standard's rule. */
const valueOf = (environment: Environment, ...names: ReadonlyArray<string>): string | undefined =>
  names.map((name) => environment[name]?.trim()).find((value) => value !== undefined && value !== "");

/** The variables that name a collector, the more special one first. */
const endpoints = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"] as const;

export interface Collector {
  /** Host and port alone: an address may bring a secret along. Null where the value is none. */
  readonly host: string | null;
  /** The variable that names it. */
  readonly from: string;
}

/** Where traces would go, or null where nobody asks for any. */
export const collectorOf = (environment: Environment): Collector | null => {
  const exporters = valueOf(environment, "OTEL_TRACES_EXPORTER") ?? "otlp";
  const from = endpoints.find((name) => valueOf(environment, name) !== undefined);
  const isOff =
    valueOf(environment, "OTEL_SDK_DISABLED")?.toLowerCase() === "true" ||
    !exporters.split(",").some((one) => one.trim().toLowerCase() === "otlp");
  if (from === undefined || isOff) return null;
  const value = valueOf(environment, from) ?? "";
  return { host: URL.canParse(value) ? new URL(value).host : null, from };
};

const off = "traces are off";

/**
 * Null where nobody asks for traces, or asks in a way that is not understood: then `notice` gets a line, without the value. It
 * gets one, too, when the collector takes nothing. What is traced goes on all the same.
 */
export const open = async (
  environment: Environment,
  serviceName: string,
  notice: (line: string) => void,
): Promise<Traces | null> => {
  if (collectorOf(environment) === null) return null;
  const named = valueOf(environment, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL");
  const protocol = named === undefined ? protocols[0] : protocols.find((one) => one === named);
  if (protocol === undefined) {
    notice(`${off}: OTEL_EXPORTER_OTLP_PROTOCOL is expected to be ${protocols.join(" or ")}`);
    return null;
  }
  const { start } = await import("./OtlpTraces.ts");
  const traces = await start({ environment, protocol, serviceName, notice });
  if (traces === null) notice(`${off}: one of the OTEL_ variables has a value that cannot be used`);
  return traces;
};
