// One seed, one run: draws an environment, lets a storm of losses, crashes, delays and lies rage over the fold, then calms
// it and asks whether all that honest members had persisted has ended. Throws with the first thing that is wrong.

import type { AgentId } from "@social-harness/protocol/identity/Identifier";
import type { SealingSecret } from "@social-harness/router/seal/SealingKeys";
import { settleDown } from "./Aftermath.ts";
import { createAgents } from "./Agents.ts";
import { createByzantine } from "./Byzantine.ts";
import { openConversation } from "./Certify.ts";
import { createContents } from "./Contents.ts";
import type { Coverage } from "./Coverage.ts";
import type { Environment } from "./Environment.ts";
import { createWorld, type Member, type World } from "./FoldWorld.ts";
import { createIngress } from "./Ingress.ts";
import { watch } from "./Oracles.ts";
import { createRandom, mix } from "./Random.ts";
import { bent, draw, type ScenarioName, scenarioOf } from "./Scenarios.ts";
import { storm } from "./Storm.ts";
import { brokenText, headerOf, heldText, traceOf } from "./Trace.ts";
import { plainWire, sealedWire } from "./Wire.ts";

export interface Outcome {
  readonly scenario: ScenarioName;
  readonly environment: Environment;
  readonly certified: number;
}

export interface How {
  /** null: whichever the seed says. */
  readonly scenario?: ScenarioName | null;
  /** Steps of the storm that are left out. */
  readonly omit?: ReadonlySet<number>;
  readonly onStep?: (step: number) => void;
  readonly coverage?: Coverage;
  /** Takes the run's lines. */
  readonly print?: (line: string) => void;
}

type Cast = ReturnType<typeof createAgents>;
const casts = new Map<string, Cast>();

/** The members of a run, whose keys cost more to make than many a run: the same ones for each number of them. */
const castOf = (n: number, real: boolean): Cast => {
  const name = `simulation ${n} ${real}`;
  const cast = casts.get(name) ?? createAgents(n, name, real);
  casts.set(name, cast);
  return cast;
};

/** The scenario and the environment that a seed stands for. */
export const drawn = (seed: number, scenario: ScenarioName | null = null): Outcome => {
  const random = createRandom(mix(seed, 0x5eed));
  const name = scenario ?? scenarioOf(createRandom(mix(seed, 0x5ce)));
  const environment = bent(draw(name, random), createRandom(mix(seed, 0xbe27)));
  return { scenario: name, environment, certified: 0 };
};

const createWorldOf = (seed: number, { n, real }: Environment): World => {
  const { agents, registry, verifier } = castOf(n, real);
  const secrets = new Map<AgentId, SealingSecret>();
  for (const { card, sealing } of agents) if (sealing !== null) secrets.set(card.agentId, sealing);
  const wire = real ? sealedWire(secrets, seed) : plainWire;
  return createWorld({ agents, trust: { verifier, registryKey: registry.publicKey }, wire });
};

/** Runs one seed. `change` replaces parts of the drawn environment. */
export const simulate = (seed: number, change: Partial<Environment> = {}, how: How = {}): Outcome => {
  const { scenario, environment: chosen } = drawn(seed, how.scenario);
  const environment = { ...chosen, ...change };
  const { print } = how;
  print?.(headerOf({ seed, scenario, environment, change, omitted: how.omit?.size ?? 0 }));
  try {
    const certified = certifiedBy(seed, environment, how);
    print?.(heldText(certified));
    return { scenario, environment, certified };
  } catch (error) {
    print?.(brokenText(error));
    throw error;
  }
};

/** The run itself: how many records it has certified. */
const certifiedBy = (seed: number, environment: Environment, how: How): number => {
  const { n, byzantine, nuisance, secretive, scheme, stubborn, opened } = environment;
  const random = createRandom(seed);
  const world = createWorldOf(seed, environment);
  const honest = world.all.slice(0, n - byzantine);
  const liars = world.all.slice(n - byzantine);
  for (const liar of liars) world.crash(liar.index);
  if (opened) openConversation(world);
  // Lines come before the oracles' word on them.
  const trace = how.print === undefined ? null : traceOf(world, how.print);
  // Who does not know that it has forgotten may sign anything: it counts among the faulty, as a liar does.
  const faulty = environment.silent ? [...liars, ...honest.slice(-1)] : liars;
  const oracles = watch(world, new Set(faulty.map(({ id }) => id)), true);
  how.coverage?.observe(world);
  const mischief =
    liars.length === 0
      ? null
      : createByzantine({ world, members: liars, random, nuisance, secretive, scheme, stubborn });
  const note = (line: string): void => trace?.note(line);
  const contents = createContents(seed);
  const ingress = environment.ingress ? createIngress({ world, honest, seed, contents, note }) : null;
  const run = {
    seed,
    world,
    environment,
    honest,
    random,
    act: () => mischief?.act(),
    split: (near: Member) => mischief?.split(near),
    ingress,
    say: (text: string) => (ingress === null ? text : contents.of(text)),
    note,
  };
  const onStep = (step: number): void => {
    trace?.onStep(step);
    how.onStep?.(step);
  };
  try {
    storm(run, { omit: how.omit ?? new Set(), onStep });
    settleDown(run, () => oracles.chain.length);
    ingress?.askEnd();
  } finally {
    ingress?.close();
  }
  return oracles.chain.length;
};
