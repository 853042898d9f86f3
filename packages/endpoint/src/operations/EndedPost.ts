// A send whose post ended without its effect: which post, how, and by whose refusal. Over MCP a failure is a reason and words
// alone, so the words say it, always in the same way, and the command line reads them back. Implements MGT-182.

import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import * as AgentNames from "@social-harness/protocol/identity/AgentName";
import { PostId } from "@social-harness/protocol/identity/Identifier";
import { OperationError, type SendReason } from "./OperationError.ts";

export type EndedReason = Extract<SendReason, "refused" | "withdrawn" | "outcome-unknown">;

export interface EndedPost {
  readonly postId: PostId;
  readonly reason: EndedReason;
  /** Of a refused post, the member whose refusal came first; null where its name is not known. */
  readonly refusedBy: AgentName | null;
}

export class EndedPostError extends OperationError<EndedReason> {
  readonly post: EndedPost;
  constructor(post: EndedPost) {
    super(post.reason, toWords(post));
    this.post = post;
  }
}

export const toWords = ({ postId, reason, refusedBy }: EndedPost): string => {
  switch (reason) {
    case "refused":
      return `The post ${postId} was refused by ${refusedBy ?? "a member"}. It was delivered to no one.`;
    case "withdrawn":
      return `The post ${postId} was withdrawn. It was delivered to no one.`;
    case "outcome-unknown":
      return `The post ${postId} could not be certified. Whether a member saw it is unknown.`;
  }
};

const isEnded = (reason: string): reason is EndedReason =>
  reason === "refused" || reason === "withdrawn" || reason === "outcome-unknown";

/** What `toWords` was given, or null for any other reason or words. */
export const fromWords = (reason: string, words: string): EndedPost | null => {
  if (!isEnded(reason)) return null;
  const postId = /pst_[A-Za-z0-9_-]{43}/.exec(words)?.[0];
  if (!PostId.is(postId)) return null;
  const name = / refused by ([a-z0-9-]+)\./.exec(words)?.[1];
  const post = { postId, reason, refusedBy: AgentNames.is(name) ? name : null };
  return toWords(post) === words ? post : null;
};
