// Where a network listens and how members reach it: the flags of `network start`, checked together. Plain http and ws
// stay on loopback; the world comes in through TLS, the network's own or a proxy's. Implements RUN-26.

import { readFileSync } from "node:fs";
import { isLoopback, isRegistryUrl } from "@social-harness/registry/NetworkUrl";
import { misused } from "../Failure.ts";

export interface ExposureOptions {
  readonly listen: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly publicUrl?: string;
}

export interface Exposure {
  readonly host: string;
  readonly registryPort: number;
  /** The next port, or any where the Registry's is any. */
  readonly routerPort: number;
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Whether a proxy stands in front: it hands on the public URL to the Registry and its `/router` to the Router. */
  readonly behindProxy: boolean;
  /** What members are told, where that is not the bound address. */
  readonly publicUrl?: string;
}

const listenPattern = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/;

const parseListen = (text: string): { host: string; port: number } => {
  const match = listenPattern.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  // The Router takes the next port, so the last one is no choice.
  if (host === undefined || port > 65_534) {
    throw misused(
      `"${text}" is no listening address`,
      "Write HOST:PORT, for example 127.0.0.1:7400; port 0 takes any.",
    );
  }
  return { host, port };
};

const readPem = (path: string, flag: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw misused(
      `${flag} ${path} cannot be read`,
      `${error instanceof Error ? error.message : String(error)}`,
    );
  }
};

export const parse = ({ listen, tlsCert, tlsKey, publicUrl }: ExposureOptions): Exposure => {
  const { host, port } = parseListen(listen);
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw misused("--tls-cert and --tls-key belong together", "Give both, or none.");
  }
  if (publicUrl !== undefined && !isRegistryUrl(publicUrl)) {
    throw misused(`"${publicUrl}" is no public URL`, "Write https://HOST or https://HOST:PORT.");
  }
  if (tlsCert !== undefined && publicUrl?.startsWith("http:") === true) {
    throw misused(
      `members cannot reach a network that speaks TLS under ${publicUrl}`,
      "Write the --public-url with https, or leave --tls-cert and --tls-key out.",
    );
  }
  if (tlsCert === undefined && !isLoopback(host)) {
    throw misused(
      `without TLS a network listens on loopback only, and ${host} is not loopback`,
      "Give --tls-cert and --tls-key, or listen on 127.0.0.1 behind a proxy that does TLS and give --public-url.",
    );
  }
  if (publicUrl === undefined && (host === "0.0.0.0" || host === "::")) {
    throw misused(`members cannot reach ${host}`, "Give the address that they use as --public-url.");
  }
  return {
    host,
    registryPort: port,
    routerPort: port === 0 ? 0 : port + 1,
    behindProxy: publicUrl !== undefined && tlsCert === undefined,
    ...(tlsCert === undefined || tlsKey === undefined
      ? {}
      : { tls: { cert: readPem(tlsCert, "--tls-cert"), key: readPem(tlsKey, "--tls-key") } }),
    ...(publicUrl === undefined ? {} : { publicUrl: publicUrl.replace(/\/$/, "") }),
  };
};

/** The Router's address for members: its own port under the network's TLS, the path `/router` behind a proxy. */
export const routerUrlOf = (exposure: Exposure, boundUrl: string): string => {
  if (exposure.publicUrl === undefined) return boundUrl;
  const url = new URL(exposure.publicUrl);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  if (exposure.behindProxy) return `${url.href.replace(/\/$/, "")}/router`;
  url.port = new URL(boundUrl).port;
  return url.href.replace(/\/$/, "");
};
