import { expect } from "vitest";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import { PostId } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { errorOf } from "../../src/mcp/Failures.ts";
import * as EndedPost from "../../src/operations/EndedPost.ts";

const postId = PostId.fromBytes(Buffer.alloc(32, 1));
const posts: ReadonlyArray<EndedPost.EndedPost> = [
  { postId, reason: "refused", refusedBy: "bob-agent" as AgentName },
  { postId, reason: "refused", refusedBy: null },
  { postId, reason: "withdrawn", refusedBy: null },
  { postId, reason: "outcome-unknown", refusedBy: null },
];

verifies(
  "MGT-182",
  "the words of a post that ended name it, and whoever refused it, and are read back",
  () => {
    for (const post of posts) {
      const words = EndedPost.toWords(post);
      expect(words).toContain(postId);
      expect(EndedPost.fromWords(post.reason, words)).toEqual(post);
      expect(EndedPost.fromWords("persistence-failed", words)).toBeNull();
      expect(EndedPost.fromWords(post.reason, `${words} And more.`)).toBeNull();
      const error = errorOf("send_message", new EndedPost.EndedPostError(post));
      expect([error?.message, error?.data]).toEqual([words, { reason: post.reason }]);
    }
    expect(EndedPost.fromWords("refused", "The members refused the post.")).toBeNull();
    expect(EndedPost.toWords(posts[0] as EndedPost.EndedPost)).toContain("refused by bob-agent");
  },
);
