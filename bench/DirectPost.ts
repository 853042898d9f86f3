// How long a direct post takes, from the send_message call of one host until the event at the other says that there is
// something to read, and until it is in the read_inbox answer there: three processes, every store FULL. Beside it the floor: what no implementation of this
// protocol can leave out between the two, at the costs measured right after each post.

import { setTimeout as sleep } from "node:timers/promises";
import * as EndpointFile from "@social-harness/endpoint/state/EndpointFile";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import type { LabAgent } from "../packages/cli/src/lab/Lab.ts";
import * as Lab from "../packages/cli/src/lab/Lab.ts";
import { interruptible } from "../packages/cli/src/lab/Interruptible.ts";
import * as CostMeter from "./Costs.ts";
import * as Host from "./Host.ts";
import type { Line, Question } from "./Line.ts";
import { median, quantile } from "./Statistics.ts";

interface Turn extends CostMeter.Step {
  readonly who: string;
}

/**
 * What follows from what: each step ends with the one durable commit that must be on disk before anything of it may leave,
 * and the next cannot begin before. Own copies of own envelopes hold nobody up and are not here.
 */
const turns: ReadonlyArray<Turn> = [
  /** Persists the intent. Signs the proposal, the vote inside it and the envelope. */
  { who: "author", verifies: 0, signs: 3, seals: 1 },
  /** Checks the envelope; signs the lane head. */
  { who: "Router", verifies: 1, signs: 1, seals: 0 },
  /** Checks lane head, envelope, proposal and vote. Stages: signs both votes and the envelope. */
  { who: "peer", verifies: 4, signs: 3, seals: 2 },
  { who: "Router", verifies: 1, signs: 1, seals: 0 },
  /** Checks lane head, envelope and both votes. Commits: signs its durability vote and the envelope of the notice. */
  { who: "author", verifies: 4, signs: 2, seals: 2 },
  { who: "Router", verifies: 1, signs: 1, seals: 0 },
  /** Checks lane head, envelope and the author's durability vote. Commits: the item can be read. */
  { who: "peer", verifies: 3, signs: 0, seals: 1 },
];

/** Posts follow one another, as they do while two agents talk; between rounds of them the floor is run as often. */
const rounds = 25;
const postsInRound = 10;
/**
 * Until then code is compiled and every write-ahead log has the size that it keeps: a growing file costs each commit more. The
 * floor's loop is compiled for speed within a second; V8 does the same for a function that ran three thousand times, and most
 * functions of a post run three times in it.
 */
const warmUpPosts = 1_000;
/** By then the own copies are folded and acknowledged everywhere: nothing disturbs what is measured next. */
const quietMs = 70;

interface Samples {
  /** Until the event at the peer's host says that there is something to read. */
  readonly readable: Array<number>;
  /** Until the peer's host has read it. */
  readonly read: Array<number>;
  readonly floor: Array<number>;
  /** One MCP call that does next to nothing. */
  readonly call: Array<number>;
}

const hostOf = async (agent: LabAgent): Promise<Host.Host> => {
  const file = EndpointFile.read(StateFolder.at(agent.state));
  if (file === null) throw new Error(`${agent.name} is not running`);
  return Host.connect(file.mcpUrl);
};

/** Milliseconds until the peer's host could read the post, and until it had. */
const postOnce = async (
  author: Host.Host,
  peer: Host.Host,
  to: string,
  text: string,
): Promise<{ readonly readable: number; readonly read: number }> => {
  const arrived = peer.nextItems();
  const started = performance.now();
  const sent = author.send(to, text);
  const { page, readableAt } = await arrived;
  const read = performance.now() - started;
  await sent;
  for (const { deliveryToken } of page.items) await peer.acknowledge(deliveryToken);
  return { readable: readableAt - started, read };
};

const measure = async (lab: Lab.Lab): Promise<Samples> => {
  const [ada, bob] = lab.agents as readonly [LabAgent, LabAgent];
  const author = await hostOf(ada);
  const peer = await hostOf(bob);
  const meter = CostMeter.openMeter(lab.folder);
  const samples: Samples = { readable: [], read: [], floor: [], call: [] };
  try {
    for (let i = 0; i < warmUpPosts; i++) {
      await postOnce(author, peer, `agent:${bob.name}`, `Is this the way to you? ${i}`);
      meter.run(turns);
    }
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < postsInRound; i++) {
        const took = await postOnce(author, peer, `agent:${bob.name}`, `Could we meet on day ${i}?`);
        samples.readable.push(took.readable);
        samples.read.push(took.read);
      }
      await sleep(quietMs);
      for (let i = 0; i < postsInRound; i++) {
        samples.floor.push(meter.run(turns));
        const called = performance.now();
        await peer.status();
        samples.call.push(performance.now() - called);
      }
    }
  } finally {
    meter.close();
    await Promise.all([author.close(), peer.close()]);
  }
  return samples;
};

const answer = async (): Promise<ReadonlyArray<Line>> => {
  const samples = await interruptible(async (cleanUp) =>
    measure(
      await Lab.open(
        ["ada-agent", "bob-agent"] as ReadonlyArray<string> as ReadonlyArray<AgentName>,
        cleanUp,
      ),
    ),
  );
  const floor = { value: median(samples.floor), unit: "ms", name: "floor, p50" };
  const read = { value: median(samples.read), unit: "ms" };
  return [
    {
      name: "direct post until it can be read, p50",
      measured: { value: median(samples.readable), unit: "ms" },
      against: floor,
      target: { atMost: 4 },
    },
    {
      name: "direct post until it can be read, p99",
      measured: { value: quantile(samples.readable, 0.99), unit: "ms" },
      against: floor,
      target: { atMost: 12 },
    },
    { name: "direct post until it was read, p50", measured: read, against: floor, target: { atMost: 5 } },
    {
      // The call that sends and the event that wakes are one way each; the read is a round trip.
      name: "MCP's own share: two round trips of it",
      measured: { value: 2 * median(samples.call), unit: "ms" },
      against: { ...read, name: "direct post until it was read, p50" },
      target: { atMost: 0.35 },
    },
  ];
};

export const directPost: Question = {
  name: "direct-post",
  asks: "How long does a direct post take, beside its seven commits and its cryptography?",
  answer,
};
