// Which tools there are, before and after registration, in the one order in which they are listed. Implements MGT-03.

import type { Tool } from "./Tool.ts";
import { acknowledgeDelivery } from "./tools/AcknowledgeDelivery.ts";
import { readConversation } from "./tools/ReadConversation.ts";
import { readEvent } from "./tools/ReadEvent.ts";
import { readInbox } from "./tools/ReadInbox.ts";
import { register } from "./tools/Register.ts";
import { searchAgents } from "./tools/SearchAgents.ts";
import { searchConversations } from "./tools/SearchConversations.ts";
import { sendMessage } from "./tools/SendMessage.ts";
import { status } from "./tools/Status.ts";

const unregistered: ReadonlyArray<Tool> = [register, status];
const registered: ReadonlyArray<Tool> = [
  status,
  searchAgents,
  searchConversations,
  readConversation,
  sendMessage,
  readInbox,
  acknowledgeDelivery,
  readEvent,
];

export const toolsOf = (isRegistered: boolean): ReadonlyArray<Tool> =>
  isRegistered ? registered : unregistered;
