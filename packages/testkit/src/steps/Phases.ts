// The phases of an endpoint's life whose steps are numbered: its starts, its turns, its stop. Each brings a scene to where
// it begins, and then does one thing that is repeated or waited for across the death of the daemon. Knows no step.

import { statSync } from "node:fs";
import * as Scene from "./Scene.ts";

type Work = (scene: Scene.Scene, number: number) => Promise<void>;

export interface Phase {
  readonly name: string;
  /** How many agents the victim can speak with. */
  readonly peers: number;
  /** Each strike meets an agent that nothing was ever started on; else one after the other meets the same one. */
  readonly isFresh: boolean;
  /** Undisturbed; `number` counts the strikes of a scene. */
  readonly arrange: Work;
  /** Resolves when it is done or, where a death of the daemon ends it for good, with whether it came to its end. */
  readonly act: (scene: Scene.Scene, number: number) => Promise<boolean>;
}

const stopMsMax = 20_000;

/** Who can speak with the victim. */
const names = ({ victim, peers }: Scene.Scene): readonly [victim: string, first: string, second: string] => [
  victim.name,
  peers[0]?.name ?? "",
  peers[1]?.name ?? "",
];

const nothing = async (): Promise<void> => undefined;

/** Resolves when a daemon is ready, with whether it is the one that was started here. */
const start = async ({ victim: { resident } }: Scene.Scene): Promise<boolean> => {
  const isReady = await resident.start();
  await resident.ready();
  return isReady;
};

const stop = async ({ victim: { resident }, faults }: Scene.Scene): Promise<void> => {
  if (!(await resident.stop(stopMsMax))) faults.add("a stop that nothing disturbed did not end by itself");
};

const receive = async (scene: Scene.Scene, text?: string): Promise<void> => {
  const [victim, peer] = names(scene);
  await scene.post(peer, [victim], text);
};

const receiveAtRest = async (scene: Scene.Scene, text?: string): Promise<void> => {
  await receive(scene, text);
  await scene.rest();
};

/** A pair of peers with which nobody has spoken yet. */
const pairOf = ({ peers }: Scene.Scene, number: number): readonly [string, string] => {
  const pairs = peers.flatMap(({ name }, index) =>
    peers.slice(index + 1).map((other) => [name, other.name] as const),
  );
  const pair = pairs[number];
  if (pair === undefined) throw new RangeError("more steps than pairs of peers");
  return pair;
};
/** 171 pairs: the GENESIS of a group has fewer steps. */
const peersOfGroups = 19;

const turn = (name: string, peers: number, act: Work, arrange: Work = nothing): Phase => ({
  name,
  peers,
  isFresh: false,
  arrange,
  act: async (scene, number) => {
    await act(scene, number);
    return true;
  },
});

export const phases: ReadonlyArray<Phase> = [
  { name: "first-start", peers: 1, isFresh: true, arrange: nothing, act: start },
  {
    name: "registration",
    peers: 1,
    isFresh: true,
    arrange: async (scene) => {
      await start(scene);
    },
    act: async (scene) => {
      await scene.register();
      return true;
    },
  },
  {
    name: "start",
    peers: 1,
    isFresh: false,
    arrange: async (scene) => {
      await receiveAtRest(scene);
      await stop(scene);
    },
    act: start,
  },
  {
    name: "start-after-kill",
    peers: 1,
    isFresh: false,
    arrange: async ({ victim: { resident, database }, faults }) => {
      await resident.kill();
      if (statSync(`${database}-wal`).size === 0) faults.add("there is no write-ahead log to recover");
    },
    // A post waits for it.
    act: async (scene) => {
      const arriving = receive(scene);
      const isReady = await start(scene);
      await arriving;
      return isReady;
    },
  },
  turn("send", 1, async (scene) => {
    const [victim, peer] = names(scene);
    await scene.post(victim, [peer]);
  }),
  turn("receive", 1, (scene) => receive(scene)),
  turn(
    "send-group",
    2,
    async (scene) => {
      const [victim, ...others] = names(scene);
      await scene.post(victim, others);
    },
    async (scene, number) => {
      const [victim, ...others] = names(scene);
      if (number === 0) await scene.post(victim, others);
    },
  ),
  turn(
    "receive-group",
    2,
    async (scene) => {
      const [victim, first, second] = names(scene);
      await scene.post(first, [victim, second]);
    },
    async (scene, number) => {
      const [victim, ...others] = names(scene);
      if (number === 0) await scene.post(victim, others);
    },
  ),
  turn("genesis", peersOfGroups, async (scene, number) => {
    await scene.post(scene.victim.name, pairOf(scene, number));
  }),
  turn("invited", peersOfGroups, async (scene, number) => {
    const [author, other] = pairOf(scene, number);
    await scene.post(author, [scene.victim.name, other]);
  }),
  turn(
    "acknowledge",
    1,
    async ({ host }) => {
      for (const token of await host.read()) await host.acknowledge(token);
    },
    (scene) => receiveAtRest(scene),
  ),
  turn("hold", 1, (scene) => receive(scene, Scene.heldText)),
  turn(
    "release",
    1,
    (scene) => scene.end("released"),
    (scene) => receiveAtRest(scene, Scene.heldText),
  ),
  turn(
    "discard",
    1,
    (scene) => scene.end("discarded"),
    (scene) => receiveAtRest(scene, Scene.heldText),
  ),
  {
    name: "stop",
    peers: 1,
    isFresh: false,
    // A stop folds the write-ahead log into the store. Of all that the courses before have left there, only one post is left
    // to it: else each stop would have more steps than the one before, and they would never end.
    arrange: async (scene) => {
      scene.fold();
      await receiveAtRest(scene);
    },
    act: ({ victim: { resident } }) => resident.stop(stopMsMax),
  },
];
