// Which tools there are for whom, before and after registration, in the one order in which they are listed. What is not
// here for a caller does not exist for it. Implements MGT-03 and MGT-72.

import type { HoldTools } from "../operations/Holds.ts";
import type { Caller } from "./Caller.ts";
import type { Tool } from "./Tool.ts";
import { acknowledgeDelivery } from "./tools/AcknowledgeDelivery.ts";
import { discardHold, releaseHold } from "./tools/EndHold.ts";
import { eventSubscriptionStatus } from "./tools/EventSubscriptionStatus.ts";
import { listHolds } from "./tools/ListHolds.ts";
import { readConversation } from "./tools/ReadConversation.ts";
import { readEvent } from "./tools/ReadEvent.ts";
import { readHold } from "./tools/ReadHold.ts";
import { readInbox } from "./tools/ReadInbox.ts";
import { register } from "./tools/Register.ts";
import { resumeEventSubscription } from "./tools/ResumeEventSubscription.ts";
import { revokeEventSubscription } from "./tools/RevokeEventSubscription.ts";
import { searchAgents } from "./tools/SearchAgents.ts";
import { searchConversations } from "./tools/SearchConversations.ts";
import { sendMessage } from "./tools/SendMessage.ts";
import { status } from "./tools/Status.ts";

type Tools = ReadonlyArray<Tool>;

const unregistered: Tools = [register, status];
const registered: Tools = [
  status,
  searchAgents,
  searchConversations,
  readConversation,
  sendMessage,
  readInbox,
  acknowledgeDelivery,
  readEvent,
];
const subscriptions: Tools = [eventSubscriptionStatus, revokeEventSubscription, resumeEventSubscription];

const holds: Readonly<Record<HoldTools, Tools>> = {
  kept: [listHolds, readHold, discardHold],
  releasable: [listHolds, readHold, discardHold, releaseHold],
};

interface Row {
  readonly unregistered: Tools;
  readonly registered: Tools;
}

/** The owner's row is the same in both modes: the mode decides who else there is. */
const rows: Readonly<Record<Caller["kind"], Row>> = {
  local: { unregistered, registered },
  owner: {
    unregistered: [...unregistered, ...subscriptions],
    registered: [...registered, ...subscriptions],
  },
  runtime: { unregistered: [], registered: [sendMessage, readEvent, searchAgents] },
};

export const toolsOf = ({ kind }: Caller, isRegistered: boolean, holdTools: HoldTools = "kept"): Tools => {
  if (!isRegistered) return rows[kind].unregistered;
  return kind === "owner" ? [...rows.owner.registered, ...holds[holdTools]] : rows[kind].registered;
};
