// What a client of another protocol revision is told: which one is served here, and what to do about it. Only the current
// revision is served, and there is no session to begin. Implements MGT-06 and MGT-141.

import { codes } from "./McpError.ts";

export const served = "2026-07-28";

const advice =
  `This endpoint serves MCP ${served} only and keeps no session: there is no initialize. Begin with server/discover and name ` +
  "that revision in every request's _meta and MCP-Protocol-Version header, or use a client that does.";

/** A version is echoed as the protocol wants it, and nothing longer or stranger than a version. */
const versionPattern = /^[\w.-]{1,32}$/;

export interface Refusal {
  readonly code: number;
  readonly message: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** For a request that names another version, or none. */
export const unsupported = (requested: unknown): Refusal => ({
  code: codes.unsupportedProtocolVersion,
  message: `Unsupported protocol version. ${advice}`,
  data: {
    supported: [served],
    ...(requested === undefined
      ? {}
      : {
          requested: typeof requested === "string" && versionPattern.test(requested) ? requested : "unknown",
        }),
  },
});

/** For the older handshake inside an envelope of the current revision, where it is one more unknown method. */
export const unknownHandshake: Refusal = {
  code: codes.methodNotFound,
  message: `Method not found. ${advice}`,
  data: { supported: [served] },
};
