// Who makes a request, as the gate has found. Decided once from the request's head; the catalog, the events and the owner's
// paths follow from it and from nothing else that a client says of itself.

import type { Mode } from "../state/Configuration.ts";

export type Caller =
  /** Any program of this machine that shows no credential; in credentials mode there is no such caller. */
  | { readonly kind: "local"; readonly mode: "trusted-local" }
  | { readonly kind: "owner"; readonly mode: Mode }
  /** The host of the agent's model, with the one token that is made for it. */
  | { readonly kind: "runtime"; readonly mode: "credentials" };

/** Whoever measures the endpoint, with the token for that: it sees how it does and what it counted, and speaks no MCP. */
export interface Monitor {
  readonly kind: "monitor";
}
