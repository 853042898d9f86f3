// Each way in which a callback fails, to a person: what happened, and what its owner or the receiver's can do about it.
// Implements ING-206.

import type { DeliveryError } from "@social-harness/endpoint/operations/EventSubscription";

interface Words {
  /** Behind "it" or a colon. */
  readonly what: string;
  /** The next step, one sentence. */
  readonly next: string;
}

const failures: Readonly<Record<DeliveryError, Words>> = {
  connection_refused: {
    what: "nobody answered there, or the connection broke off",
    next: "Start the receiver, and see whether the URL that its host subscribed leads to it.",
  },
  timeout: {
    what: "it did not answer within ten seconds",
    next: "Have the receiver answer first and do slow work afterwards; a firewall on the way looks the same.",
  },
  tls_error: {
    what: "there was no encrypted connection",
    next: "See the receiver's certificate: it must be valid now, name the URL's host and come from a known authority.",
  },
  http_3xx: {
    what: "it answered with a redirect, and none is followed",
    next: "Have its host subscribe the URL that the redirect leads to.",
  },
  http_4xx: {
    what: "it refused",
    next: "See the receiver's own log: its path and its secret must be those of the subscription.",
  },
  http_5xx: {
    what: "it failed, or what answered is no web server",
    next: "See the receiver's own log: the failure is on its side.",
  },
  challenge_failed: {
    what: "it answered without the challenge",
    next: "Have the receiver answer a message of the type verification with its challenge, as docs/webhooks.md shows.",
  },
  address_refused: {
    what: "nothing was sent: its host leads to an address outside the public internet, where no callback goes",
    next: "Serve the receiver under a public host; docs/webhooks.md says how to try one on one machine.",
  },
  dns_failed: {
    what: "nothing was sent: no name server knows an address of its host",
    next: "Correct the host or publish its name; the hosts file of this machine is not asked.",
  },
};

/** What a failed call came to, with the status where there was an answer. */
export const failureOf = (error: DeliveryError, status: number | null): Words => {
  const { what, next } = failures[error];
  return status === null ? { what, next } : { what: `${what} (HTTP ${status})`, next };
};
