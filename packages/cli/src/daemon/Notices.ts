// Which entries of the log a person hears of who looks on while the daemon runs, and in which words: all trouble,
// whatever else is explained to a person, and of the firewall also what asks for a decision. Implements ING-226.

import * as Events from "@social-harness/endpoint/firewall/Events";
import type { Logger } from "@social-harness/router/Logger";

type Entry = Parameters<Logger>;

/** Without trouble, yet worth a line. */
const shown: ReadonlySet<string> = new Set([Events.held, Events.inForce, Events.gone, "endpoint stopped"]);

/** Of a hold its id and reason, of everything else the explanation alone; null for what only the log has to say. */
export const noticeOf = (level: Entry[0], event: Entry[1], fields: Entry[2] = {}): string | null => {
  const { explanation, hold, reason, rule } = fields;
  if (level === "info" && explanation === undefined && !shown.has(event)) return null;
  const why = rule === undefined ? reason : `${reason} ${rule}`;
  const line = hold === undefined ? event : `${event} (${why}): \`social-harness hold show ${hold}\``;
  return explanation === undefined ? line : `${line}: ${explanation}`;
};
