// What stories about refusals and withdrawals are told with.

import * as Statement from "@social-harness/protocol/history/Statement";
import type { PostId } from "@social-harness/protocol/identity/Identifier";
import type { PacketOf } from "@social-harness/protocol/conversation/Packet";
import { type Scenario, scenario as storyOf } from "./Scenario.ts";

/** Here members know what they signed: nothing is signed in their name. */
export const scenario = (n: number, opened = true, watched = true): Scenario => {
  const story = storyOf(n, opened, watched);
  story.world.isTold = false;
  return story;
};

export const withdraw = ({ world, at }: Scenario, name: string, postId: PostId): void =>
  world.feed(at(name).index, { kind: "withdraw", postId });

/** The named members let nobody open a conversation with them. */
export const closed = ({ world, name }: Scenario, ...names: ReadonlyArray<string>): void => {
  world.admits = ({ id }) => !names.includes(name(id));
};

export const stateOf = (story: Scenario, name: string) => story.at(name).disk.state;

export const refusalOf = (
  story: Scenario,
  signer: string,
  { recordCore }: PacketOf<"proposal_packet">,
): PacketOf<"refusal"> => {
  const statement = {
    kind: "refusal" as const,
    signerAgentId: story.at(signer).id,
    actionHash: recordCore.actionHash,
    reason: "withdrawn" as const,
  };
  return { ...statement, signature: Statement.sign(story.at(signer).signer, statement) };
};

export const withdrawalOf = (
  story: Scenario,
  author: string,
  { recordCore }: PacketOf<"proposal_packet">,
): PacketOf<"withdrawal"> => {
  const statement = {
    kind: "withdrawal" as const,
    authorAgentId: story.at(author).id,
    actionHash: recordCore.actionHash,
  };
  return { ...statement, signature: Statement.sign(story.at(author).signer, statement) };
};
