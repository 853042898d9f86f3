// How verified posts of an export look, to people and to programs.

import type * as Export from "@social-harness/protocol/history/Export";
import type { AgentCard } from "@social-harness/protocol/identity/AgentCard";
import type { Output } from "../Output.ts";
import { contentLines } from "./Items.ts";

const namesOf = (cards: ReadonlyArray<AgentCard>): ReadonlyArray<string> =>
  cards.map((card) => card.agentName);

export const postLines = ({ style }: Output, post: Export.VerifiedPost): string => {
  const action = namesOf(post.actionSigners);
  const durability = namesOf(post.durabilitySigners);
  const same = action.join() === durability.join();
  const signed = same
    ? `agreed and held by ${action.join(", ")}`
    : `agreed by ${action.join(", ")}; held by ${durability.join(", ")}`;
  return [
    `${post.height}  ${style("bold", post.author.agentName)}  ${style("dim", signed)}`,
    contentLines(post.content),
  ].join("\n");
};

export const postJson = (post: Export.VerifiedPost) => ({
  height: post.height,
  recordHash: post.recordHash,
  author: post.author.agentName,
  postId: post.postId,
  content: post.content,
  actionSigners: namesOf(post.actionSigners),
  durabilitySigners: namesOf(post.durabilitySigners),
});
