// One HTTPS POST to an address that somebody else named: what it takes and how it may end. Whoever implements it decides
// how it connects.

import type { CallbackUrl } from "./CallbackUrl.ts";

export type FailureCategory =
  "address-refused" | "dns-failed" | "connection-refused" | "timeout" | "tls-failed" | "connection-lost";

export type CallbackAnswer =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly retryAfterMs: number | null;
      /** At most 4 KiB of it. */
      readonly body: Uint8Array;
    }
  | { readonly kind: "failed"; readonly category: FailureCategory };

export interface CallbackClient {
  readonly post: (
    request: {
      readonly url: CallbackUrl;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Uint8Array;
    },
    signal: AbortSignal,
  ) => Promise<CallbackAnswer>;
  readonly close: () => Promise<void>;
}
