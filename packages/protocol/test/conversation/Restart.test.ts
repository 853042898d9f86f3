// A member that dies at any moment of a round change and comes back from its disk: the oracles look for a conflicting vote
// after every step, and the conversation goes on.

import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { back, down, scenario, type Scenario } from "./Scenario.ts";
import { roundOf } from "./RoundStories.ts";

/** One thing after another, members in turn. False when nothing is on its way. */
const step = ({ world }: Scenario, turn: number): boolean => {
  const { length } = world.all;
  for (let i = 0; i < length; i++) {
    const index = (turn + i) % length;
    if (world.flush(index) || world.deliverLane(index) || world.deliverFromBag(index, 0)) return true;
  }
  return false;
};

/** A's post is staged everywhere and durable nowhere when all ask for a round; `strike` comes after so many steps. */
const roundChange = (n: number, strikeAt: number, strike: (story: Scenario) => void): Scenario => {
  const story = scenario(n);
  const { world } = story;
  story.say("A", "carried");
  world.loses = (_, packets) =>
    packets.some((packet) => packet.kind === "vote_packet" && packet.durabilityVotes.length > 0);
  story.run(0);
  world.loses = () => false;
  story.say("B", "after it");
  for (const { index } of world.all) world.feed(index, { kind: "wish-round" });
  for (let i = 0; i <= strikeAt; i++) {
    if (i === strikeAt) strike(story);
    if (!step(story, i)) break;
  }
  return story;
};

const endsWell = (story: Scenario): void => {
  // Where all is still the turn that is lost is one that time brings.
  story.run(10_000);
  story.world.dies = () => false;
  for (const { index } of story.world.all) story.world.restart(index);
  story.run(600_000);
  expect(story.chains()).toEqual(story.world.all.map(() => ["A: carried", "B: after it"]));
  for (const member of story.world.all) expect(roundOf(member)).toBeGreaterThan(0);
};

const steps = 60;

describe("a member that comes back from its disk", () => {
  for (const n of [2, 4]) {
    for (const name of n === 2 ? ["A", "B"] : ["B", "D"]) {
      verifies(
        ["HIS-83", "HIS-77"],
        `in a round change of ${n}: ${name}, after each of ${steps} steps`,
        () => {
          for (let i = 0; i < steps; i++)
            endsWell(
              roundChange(n, i, (story) => {
                down(story, name);
                back(story, name);
              }),
            );
        },
      );
    }

    verifies(
      ["HIS-83", "HIS-41"],
      `in a round change of ${n}: all at once, after each of ${steps} steps`,
      () => {
        for (let i = 0; i < steps; i++)
          endsWell(
            roundChange(n, i, (story) => {
              for (const { id } of story.world.all) down(story, story.name(id));
            }),
          );
      },
    );

    verifies("HIS-83", `in a round change of ${n}: whoever loses the next turn before its commit`, () => {
      for (let i = 0; i < steps; i++)
        endsWell(
          roundChange(n, i, ({ world }) => {
            world.dies = () => {
              world.dies = () => false;
              return true;
            };
          }),
        );
    });
  }

  verifies(["HIS-72", "HIS-83"], "is bound to what it stated, and says the same again", () => {
    const story = scenario(4);
    story.world.loses = () => true;
    for (const { index } of story.world.all) story.world.feed(index, { kind: "wish-round" });
    story.world.loses = (_, packets) => packets.some(({ kind }) => kind !== "wish");
    story.run(0);
    const { rounds } = story.at("A").disk.state;
    expect(rounds).toMatchObject({ bound: 1 });
    down(story, "A");
    back(story, "A");
    expect(story.at("A").disk.state.rounds).toMatchObject({ bound: 1, own: rounds.own });
    story.world.loses = () => false;
    story.run(10_000);
    expect(story.world.all.map(roundOf)).toEqual([1, 1, 1, 1]);
  });
});
