// Whether this endpoint may sign at all. A store that remembers less than the Router does, another Router's log, or a
// Router that took back what it signed: until rounds exist each of these stops every signature and leaves reading as it
// is. Implements HIS-51.

import type { RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import type { ReadyState } from "@social-harness/router/client/RouterClient";
import type { Database } from "../store/Database.ts";
import * as Settings from "../store/Settings.ts";

export type HeldReason = "lost-memory" | "another-router" | "router-rollback";

export const explain = (reason: HeldReason): string => {
  switch (reason) {
    case "lost-memory":
      return (
        "the Router remembers more of this agent than its store does: the state folder is an old copy. " +
        "Nothing is signed; put the newest copy back, or keep this one for reading only"
      );
    case "another-router":
      return (
        "the Router is another instance than the one that ordered these conversations. " +
        "Nothing is signed; point routerUrl at the original Router"
      );
    case "router-rollback":
      return (
        "the Router took back an order that it had signed: its log was restored from an old copy. " +
        "Nothing is signed; what has been certified here stays readable"
      );
  }
};

/** What a connection's `ready` shows. A rollback that was seen once stays, because later traffic hides it. */
export const judge = (db: Database, ready: ReadyState): HeldReason | null => {
  const bound = Settings.text(db, "router_instance_id") as RouterInstanceId | null;
  if (bound !== null && bound !== ready.routerInstanceId) return "another-router";
  if (Settings.text(db, "held") === "router-rollback") return "router-rollback";
  const cursor = Settings.integer(db, "router_cursor");
  if (ready.acceptedSends > Settings.integer(db, "enqueued_sends") || ready.acknowledgedCursor > cursor) {
    return "lost-memory";
  }
  return ready.tailCursor < cursor ? "router-rollback" : null;
};
