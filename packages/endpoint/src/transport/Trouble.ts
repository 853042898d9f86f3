// Why a service of the network cannot be reached or not be used, told from what its client threw: closed kinds, words for
// people, and what helps. A certificate that nobody vouches for, or another key than the pinned one, is not an outage, and
// waiting does not cure it; nor does it cure an address at which something else answers. Implements RUN-16, RUN-105 and RUN-272.

import { HandshakeError } from "@social-harness/router/client/Handshake";

const kinds = [
  "untrusted-certificate",
  "unfit-certificate",
  "wrong-key",
  "unbelievable",
  "other-service",
  "unknown-host",
  "unreachable",
] as const;
export type TroubleKind = (typeof kinds)[number];

export const isKind = (word: string): word is TroubleKind => (kinds as ReadonlyArray<string>).includes(word);

export interface Trouble {
  readonly kind: TroubleKind;
  /** What is the matter, in a few words: "self-signed certificate". */
  readonly detail: string;
}

export type Service = "Registry" | "Router";

const table: Readonly<Record<string, readonly [kind: TroubleKind, detail: string]>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: ["untrusted-certificate", "self-signed certificate"],
  SELF_SIGNED_CERT_IN_CHAIN: ["untrusted-certificate", "self-signed certificate in its chain"],
  UNABLE_TO_GET_ISSUER_CERT: ["untrusted-certificate", "issued by an unknown authority"],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ["untrusted-certificate", "issued by an unknown authority"],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ["untrusted-certificate", "its issuer is unknown or its chain incomplete"],
  CERT_UNTRUSTED: ["untrusted-certificate", "its authority is not trusted"],
  CERT_HAS_EXPIRED: ["unfit-certificate", "it has expired"],
  CERT_NOT_YET_VALID: ["unfit-certificate", "it is not valid yet"],
  CERT_REVOKED: ["unfit-certificate", "it was revoked"],
  HOSTNAME_MISMATCH: ["unfit-certificate", "it is for another name"],
  ERR_TLS_CERT_ALTNAME_INVALID: ["unfit-certificate", "it is for another name"],
  "wrong-registry-key": ["wrong-key", "another key than the pinned one"],
  "invalid-answer": ["unbelievable", "malformed, or signed by another"],
  EPROTO: ["unreachable", "it does not speak TLS there"],
  ERR_SSL_WRONG_VERSION_NUMBER: ["unreachable", "it does not speak TLS there"],
  ERR_PROXY_TUNNEL: ["unreachable", "the proxy that HTTPS_PROXY names did not let it through"],
  ECONNREFUSED: ["unreachable", "connection refused"],
  ECONNRESET: ["unreachable", "connection reset"],
  ENOTFOUND: ["unknown-host", "no such host"],
  EAI_AGAIN: ["unreachable", "its name cannot be looked up now"],
  ETIMEDOUT: ["unreachable", "no answer"],
  EHOSTUNREACH: ["unreachable", "no route to its host"],
  ENETUNREACH: ["unreachable", "no network"],
};

/** What a proxy says whose Router is away is an outage; anything else comes from what is no Router and knows of none. */
const ofAnswer = ({ status }: HandshakeError): Trouble => {
  if (status === null) return { kind: "other-service", detail: "its answer is no Router's" };
  return {
    kind: status === 429 || status >= 500 ? "unreachable" : "other-service",
    detail: `HTTP ${status}`,
  };
};

/** The first cause with a known code, or null where nothing tells more than that it failed. */
export const of = (error: unknown): Trouble | null => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof HandshakeError) return ofAnswer(cause);
    for (const code of ["code" in cause && cause.code, "reason" in cause && cause.reason].map(String)) {
      const known = Object.hasOwn(table, code) ? table[code] : undefined;
      if (known !== undefined) return { kind: known[0], detail: known[1] };
    }
  }
  return null;
};

/** One sentence, without its full stop. */
export const explain = (service: Service, { kind, detail }: Trouble): string => {
  switch (kind) {
    case "untrusted-certificate":
      return `the ${service}'s certificate is not trusted (${detail})`;
    case "unfit-certificate":
      return `the ${service}'s certificate is not good (${detail})`;
    case "wrong-key":
      return `what answers at the ${service}'s address has ${detail}`;
    case "unbelievable":
      return `what answers at the ${service}'s address is not to be believed (${detail})`;
    case "other-service":
      return `something answers at the ${service}'s address that is no ${service} (${detail})`;
    case "unknown-host":
    case "unreachable":
      return `the ${service} cannot be reached (${detail})`;
  }
};

const settings = { Registry: "registryUrl", Router: "routerUrl" } as const satisfies Record<Service, string>;

const moved = "where the network has moved, take its new address with `social-harness move <invite>`";

const outages = {
  Registry:
    "Conversations that exist go on; a registration or a first contact needs the network: try again when it is up.",
  Router: "Posts wait and go out when it is back.",
} as const satisfies Record<Service, string>;

/** What helps, in a sentence or two. */
export const remedy = (service: Service, kind: TroubleKind): string => {
  const setting = settings[service];
  switch (kind) {
    case "untrusted-certificate":
      return (
        "Where the network's operator vouches for it, set NODE_EXTRA_CA_CERTS to the PEM file of its authority, or of " +
        "the certificate itself, for this command and for the daemon, and start both again."
      );
    case "unfit-certificate":
      return "Only the network's operator can help: the network needs another certificate or another address.";
    case "wrong-key":
      return "It is another network's: ask your network's operator for its address, and take it with `social-harness move`.";
    case "unbelievable":
      return `Nothing of it was taken. Compare ${setting} in config.json with the network's address; ${moved}. Where it is right, tell the network's operator.`;
    case "other-service":
      return `Compare ${setting} in config.json with the network's address; ${moved}. Where it is right, the network's proxy does not hand that path on, WebSocket upgrades included: tell its operator.`;
    case "unknown-host":
      return `Look for a mistyped name at ${setting} in config.json, and at this machine's DNS; ${moved}.`;
    case "unreachable":
      return `${outages[service]} Where it stays so, compare ${setting} in config.json with the network's address; ${moved}.`;
  }
};

const said = (trouble: Trouble): string => {
  const sentence = explain("Registry", trouble);
  return `${sentence.slice(0, 1).toUpperCase()}${sentence.slice(1)}.`;
};

/** The words of a tool that failed by the Registry's absence. */
export const toWords = (trouble: Trouble): string => `${said(trouble)} ${remedy("Registry", trouble.kind)}`;

/** What `toWords` was given, or null for any other words: a tool's failure crosses as a reason and words alone. */
export const fromWords = (words: string): Trouble | null => {
  for (const [kind, detail] of Object.values(table)) {
    if (toWords({ kind, detail }) === words) return { kind, detail };
  }
  return null;
};
