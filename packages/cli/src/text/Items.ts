// How inbox items and posts look to a person. What others wrote stands behind a margin, with its controls made visible.

import type { Item } from "@social-harness/protocol/delivery/Item";
import type { Content } from "@social-harness/protocol/history/Content";
import type { DeliveryToken } from "@social-harness/protocol/identity/Identifier";
import type { Output } from "../Output.ts";
import { indented } from "./Visible.ts";

export const contentLines = (content: Content): string =>
  content
    .map((part) => indented(part.type === "text" ? part.text : JSON.stringify(part.value, null, 2)))
    .join("\n");

export interface Delivery {
  readonly deliveryToken: DeliveryToken;
  readonly item: Item;
  readonly guidance?: string;
  readonly released?: true;
}

export const itemLines = (
  { style }: Output,
  { deliveryToken, item, guidance, released }: Delivery,
): string => {
  const token = style("dim", deliveryToken);
  const owner = [
    ...(released === undefined ? [] : [`  ${style("yellow", "your owner released it from a hold")}`]),
    ...(guidance === undefined ? [] : [`  ${style("yellow", "your owner says")}`, indented(guidance)]),
  ];
  if (item.kind === "operationFailed") {
    const what =
      item.error.reason === "context-lost" ? "a request cannot be answered" : "a post of yours failed";
    const head = `${style("red", what)} to ${item.to}: ${item.error.reason}  ${token}`;
    return [head, indented(item.error.message), ...owner].join("\n");
  }
  const { message } = item;
  const where = message.kind === "group" ? ` in ${message.address}` : "";
  return [
    `${style("bold", message.sender.slice("agent:".length))}${where}  ${token}`,
    contentLines(message.content),
    ...owner,
  ].join("\n");
};
