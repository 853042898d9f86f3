// The fold as a function: pure, total, and unmoved by what it has seen before.

import { describe, expect } from "vitest";
import * as fc from "fast-check";
import { verifies } from "@social-harness/testkit/Verifies";
import { createRandom } from "@social-harness/testkit/simulation/Random";
import type { Envelope } from "@social-harness/testkit/simulation/FoldWorld";
import { readsOf, written } from "@social-harness/testkit/simulation/Disk";
import type { Event, Inputs } from "@social-harness/protocol/conversation/Event";
import { table, transition } from "@social-harness/protocol/conversation/Transition";
import type { State } from "@social-harness/protocol/conversation/State";
import { ConversationId, RouterInstanceId } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "@social-harness/protocol/Limits";
import { back, deaf, down, hand, proposalOf, scenario, type Scenario } from "./Scenario.ts";

const frozen = <T>(value: T): T => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) frozen(member);
  }
  return value;
};

const inputsOf = ({ world, at }: Scenario, name: string): Inputs => {
  const member = at(name);
  return {
    now: world.now,
    self: member.id,
    members: world.members,
    signer: member.signer,
    trust: world.trust,
    routerInstanceId: world.routerInstanceId,
    folded: member.folded,
    admits: () => true,
    reads: readsOf(member.disk),
  };
};

describe("the table", () => {
  verifies("HIS-38", "has a cell for every phase and every event, and each says what it does", () => {
    expect(Object.keys(table)).toEqual(["opening", "open", "behind"]);
    const events = Object.keys(table.open).sort();
    expect(events).toHaveLength(22);
    for (const row of Object.values(table)) {
      expect(Object.keys(row).sort()).toEqual(events);
      for (const cell of Object.values(row)) expect(cell).toBeTypeOf("function");
    }
  });

  verifies("HIS-21", "lets no packet of another conversation in", () => {
    const story = scenario(3);
    const { state } = story.at("A").disk;
    hand(story, "A", "B", {
      kind: "catch_up_request",
      conversationId: ConversationId.fromBytes(Buffer.alloc(32, 1)),
      knownRecordHash: null,
      knownAnchorHash: null,
    });
    expect(story.at("A").disk).toMatchObject({ state, outbox: [] });
    expect(story.notes()).toEqual(["A: a packet names another conversation"]);
  });
});

describe("a transition", () => {
  verifies("HIS-37", "gives equal states and commands for equal inputs, and changes none of them", () => {
    const story = scenario(3);
    const { world } = story;
    const steps: Array<{ state: State; event: Event; inputs: Inputs }> = [];
    for (const text of ["1", "2"]) for (const name of ["A", "B"]) story.say(name, text);
    for (let i = 0; i < 200; i++) {
      const index = i % 3;
      const member = world.all[index];
      const envelope = member === undefined ? undefined : world.lane[member.disk.cursor];
      const name = story.name(member?.id as never);
      for (const packet of envelope?.packets ?? [])
        steps.push({
          state: member?.disk.state as State,
          event: {
            kind: "packet",
            from: envelope?.from as never,
            laneSequence: envelope?.laneSequence ?? null,
            packet,
          },
          inputs: inputsOf(story, name),
        });
      world.deliverLane(index);
      world.deliverFromBag(index, 0);
      world.flush(index);
      if (i % 50 === 49) {
        world.now += 3_000;
        world.tick();
      }
    }
    expect(steps.length).toBeGreaterThan(30);
    for (const { state, event, inputs } of steps) {
      const first = transition(frozen(state), frozen(event), inputs);
      expect(transition(state, event, inputs)).toEqual(first);
      expect(JSON.parse(JSON.stringify(first.state))).toEqual(first.state);
    }
  });

  verifies(
    ["HIS-51", "HIS-89"],
    "signs no vote under an anchor of another Router, and nothing before it is connected",
    () => {
      for (const change of [
        { routerInstanceId: RouterInstanceId.fromBytes(Buffer.alloc(16, 1)) },
        { routerInstanceId: null },
        { folded: false },
      ]) {
        const story = scenario(3);
        story.world.dies = () => true;
        story.world.submit(0, "hello");
        const { disk } = story.at("A");
        const inputs = { ...inputsOf(story, "A"), folded: true, ...change };
        const packet = proposalOf(story, "B", "hello");
        const event: Event = { kind: "packet", from: story.at("B").id, laneSequence: 5, packet };
        const { state, commands } = transition(disk.state, event, inputs);
        // Another Router is cause for a round: the wish for it is all that leaves.
        const isOther = change.routerInstanceId !== undefined && change.routerInstanceId !== null;
        expect(
          commands.filter(({ kind }) => kind === "own-vote" || kind === "multicast" || kind === "unicast"),
        ).toMatchObject(isOther ? [{ kind: "multicast", packet: { kind: "wish", round: 1 } }] : []);
        expect(state.slot).toMatchObject({ actionVote: null, durabilityVote: null });
      }
    },
  );
});

/** The state but for what time and hearing from a member alone change: who repeats itself is there, whatever it says. */
const withoutTimes = (state: State): Partial<State> => ({
  ...state,
  silence: null,
  spread: null,
  behind: null,
  yieldTo: [],
  rounds: { ...state.rounds, heard: [], stall: null },
});

describe("everything again", () => {
  verifies(
    ["HIS-41", "HIS-83"],
    "delivered a second time changes no record and draws no second signature",
    () => {
      fc.assert(
        fc.property(fc.nat(1_000_000), fc.constantFrom(2, 3, 4), (seed, n) => {
          const story = scenario(n, seed % 2 === 0);
          const { world } = story;
          const random = createRandom(seed);
          const bags: Array<Envelope> = [];
          world.onAccepted.push((envelope, to) => {
            if (to !== "lane") bags.push(envelope);
          });
          for (const { id } of world.all) for (const text of ["1", "2"]) story.say(story.name(id), text);
          for (let i = 0; i < 600; i++) {
            const member = random.pick(world.all);
            world.flush(member.index);
            const [next] = member.bag;
            if (random.chance(0.5)) world.deliverLane(member.index);
            else if (next !== undefined) world.deliverFromBag(member.index, random.below(member.bag.length));
            const old = world.lane[random.below(2 * member.disk.cursor)];
            if (old !== undefined && (old.laneSequence ?? 0) <= member.disk.cursor) {
              const before = member.disk;
              world.redeliver(member.index, old);
              const { records, ownVotes, state } = member.disk;
              expect({ records, ownVotes }).toEqual({ records: before.records, ownVotes: before.ownVotes });
              expect(withoutTimes(state)).toEqual(withoutTimes(before.state));
            }
          }
          story.run(600_000);
          const chain = story.chain("A");
          expect(story.chains()).toEqual(world.all.map(() => chain));
          const { disk } = story.at("A");
          for (const envelope of [...world.lane, ...bags]) world.redeliver(0, envelope);
          expect(story.at("A").disk.records).toEqual(disk.records);
          expect(story.at("A").disk.ownVotes).toEqual(disk.ownVotes);
          expect(story.at("A").disk.cores.size).toBe(0);
        }),
        { numRuns: 15 },
      );
    },
  );
});

describe("an intent", () => {
  const lifetime = Limits.intentLifetimeMs;

  verifies(
    "OPS-10",
    "that could not be proposed for seven days ends outcome-unknown, and not a moment before",
    () => {
      const story = scenario(2);
      story.world.disconnect(0);
      const postId = story.say("A", "hello");
      story.world.now += lifetime - 1;
      story.world.feed(0, { kind: "tick" });
      expect(story.outcome("A", postId)).toBeNull();
      story.world.now += 1;
      story.world.feed(0, { kind: "tick" });
      expect(story.outcome("A", postId)).toBe("outcome-unknown");
      story.world.connect(0);
      story.run(60_000);
      expect(story.chains()).toEqual([[], []]);
    },
  );

  verifies("OPS-10", "that was proposed at any height never ends by time alone", () => {
    const story = scenario(3);
    down(story, "C");
    const proposed = story.say("A", "proposed");
    const waiting = story.say("A", "waiting");
    story.run(0);
    story.world.now += lifetime;
    story.world.feed(0, { kind: "tick" });
    expect(story.outcome("A", proposed)).toBeNull();
    expect(story.outcome("A", waiting)).toBe("outcome-unknown");
    const next = story.say("A", "next");
    back(story, "C");
    story.run(600_000);
    expect(story.outcome("A", proposed)).toBe("certified");
    expect(story.outcome("A", next)).toBe("certified");
    expect(story.chains()).toEqual(Array.from({ length: 3 }, () => ["A: proposed", "A: next"]));
  });

  verifies(
    ["OPS-10", "HIS-25"],
    "that lost its slot ends withdrawn: its proposal can never be certified",
    () => {
      const story = scenario(3);
      story.world.isTold = false;
      const first = story.say("B", "first");
      const second = story.say("A", "second");
      story.world.flush(1);
      deaf(story, "A", "certified_notice", "vote_packet", "action_certificate");
      story.run(0);
      expect(story.outcome("B", first)).toBeNull();
      story.world.now += lifetime;
      story.world.feed(0, { kind: "tick" });
      expect(story.outcome("A", second)).toBe("withdrawn");
    },
  );

  verifies("HIS-20", "is persisted with its proposal, or neither is", () => {
    const story = scenario(2);
    story.world.dies = () => true;
    expect(story.world.submit(0, "hello")).toBeNull();
    expect(story.at("A").disk).toMatchObject({ intents: [], outbox: [], ownVotes: [] });
    story.world.dies = () => false;
    back(story, "A");
    story.run(60_000);
    expect(story.chains()).toEqual([[], []]);
  });
});

describe("C77: the process dies between the commit of a call and its answer", () => {
  verifies(
    ["HIS-82", "HIS-20"],
    "and the intent that it persisted is one post, however often it starts again",
    () => {
      const story = scenario(2, false);
      const postId = story.say("A", "hello");
      for (let i = 0; i < 5; i++) {
        down(story, "A");
        back(story, "A");
        story.world.flush(0);
      }
      story.run(600_000);
      expect(story.chains()).toEqual([["A: hello"], ["A: hello"]]);
      expect(story.outcome("A", postId)).toBe("certified");
    },
  );
});

describe("the disk of the simulated member", () => {
  verifies("HIS-34", "takes record, head, dropped core and pending row of a commit in one write", () => {
    const story = scenario(2);
    story.say("A", "hello");
    for (let i = 0; i < 4; i++)
      for (const index of [0, 1]) if (!story.world.flush(index)) story.world.deliverFromBag(index, 0);
    story.world.deliverLane(1);
    story.world.flush(1);
    story.world.deliverFromBag(0, 0);
    story.world.flush(0);
    const { disk } = story.at("B");
    const notice = story.world.lane.at(-1)?.packets[0];
    const event: Event = { kind: "packet", from: story.at("A").id, laneSequence: 2, packet: notice as never };
    const { state, commands } = transition(disk.state, event, inputsOf(story, "B"));
    expect(commands.map(({ kind }) => kind)).toEqual(["commit", "drop-core"]);
    const after = written(disk, story.at("B").id, state, commands);
    expect(after).toMatchObject({ pending: [after.state.head?.recordHash], outbox: disk.outbox });
    expect(after.records).toHaveLength(disk.records.length + 1);
  });
});
