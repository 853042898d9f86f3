// What a run goes through, drawn from its seed: named scenarios, each with its share of all runs. A scenario sets what it is
// about and leaves the rest to ordinary weather.

import { faultsOf } from "@social-harness/protocol/history/Quorum";
import type { Environment, RouterKind } from "./Environment.ts";
import type { Random } from "./Random.ts";
import { schemeNames } from "./schemes/Schemes.ts";

/** Nothing goes wrong; members and posts as many as the seed says. */
const fair = (random: Random, n: number): Environment => ({
  n,
  byzantine: 0,
  nuisance: false,
  secretive: false,
  scheme: null,
  stubborn: false,
  splitting: false,
  mischief: 0,
  opened: true,
  absent: 0,
  authors: random.chance(0.3) ? 1 : 1 + random.below(Math.min(4, n)),
  postsPerAuthor: 1 + random.below(6),
  steps: n * (20 + random.below(100)),
  crash: 0,
  restart: random.pick([0.005, 0.02, 0.1]),
  die: 0,
  diskFull: 0,
  disconnect: 0,
  connect: random.pick([0.005, 0.02, 0.1]),
  partition: 0,
  bagLoss: 0,
  repeat: 0,
  laneLossOf: random.pick(["evidence", "certificates", "proposals", "any"]),
  laneLoss: 0,
  deafness: 0,
  gap: 0,
  clockJump: 0,
  ownerWish: 0,
  slip: 0,
  ownerWithdraw: 0,
  contactPolicy: 0,
  router: "correct",
  routerFault: 0,
  restored: 0,
  silent: false,
  lateAnswers: 0,
  ingress: false,
  real: false,
});

/** Everything that may befall members whose Router is correct, each of it in some runs only. */
const weather = (random: Random, n: number): Environment => {
  const rough = random.chance(0.7);
  const some = (most: number): number => (rough && random.chance(0.6) ? random.next() * most : 0);
  return {
    ...fair(random, n),
    crash: some(0.05),
    die: some(0.03),
    disconnect: some(0.03),
    bagLoss: some(0.5),
    repeat: some(0.15),
    laneLoss: some(0.8),
    deafness: random.chance(0.4) ? 0.02 : 0,
    gap: some(0.01),
    clockJump: random.chance(0.1) ? 0.02 : 0,
    diskFull: some(0.003),
    partition: some(0.003),
    ownerWish: some(0.01),
    ownerWithdraw: some(0.02),
  };
};

const sizes = [2, 2, 2, 3, 3, 4, 4, 4, 4, 5, 7, 10] as const;
const sized = (random: Random): Environment => weather(random, random.pick(sizes));

/** The two sizes at which liars are as many as they may be. */
const lying = (random: Random, nuisance: boolean): Environment => {
  const n = random.chance(0.65) ? 4 : 7;
  const byzantine = faultsOf(n);
  const drawn = weather(random, n);
  return {
    ...drawn,
    byzantine,
    nuisance,
    secretive: random.chance(0.3),
    mischief: 0.1 + random.next() * 0.5,
    authors: 1 + random.below(Math.min(4, n - byzantine)),
  };
};

const withLiars = (random: Random, environment: Environment): Environment => {
  const { n, absent } = environment;
  const byzantine = Math.min(faultsOf(n) - absent, random.below(faultsOf(n) + 1));
  const authors = Math.min(environment.authors, n - byzantine);
  return byzantine < 1
    ? environment
    : { ...environment, byzantine, mischief: 0.05 + random.next() * 0.4, authors };
};

const underRouter = (random: Random, router: RouterKind, most: number): Environment => {
  const environment = random.chance(0.5) ? sized(random) : fair(random, random.pick(sizes));
  const routerFault = most * (0.2 + random.next());
  const faulty = { ...environment, router, routerFault };
  return random.chance(0.3) ? withLiars(random, faulty) : faulty;
};

interface Scenario {
  /** Its share of a run over all scenarios, in percent. */
  readonly weight: number;
  readonly draw: (random: Random) => Environment;
}

export const scenarios = {
  /**
   * Owners wish rounds all the time while evidence is lost, so that records are prepared here and there, in one round after
   * another, and every round has something to decide.
   */
  rounds: {
    weight: 11,
    draw: (random) => {
      const isLying = random.chance(0.6);
      const environment = isLying
        ? lying(random, false)
        : weather(random, random.pick([2, 3, 4, 4, 4, 5, 7]));
      const { n } = environment;
      return {
        ...environment,
        secretive: isLying && random.chance(0.6),
        mischief: isLying ? 0.1 + random.next() * 0.3 : 0,
        authors: Math.max(environment.authors, Math.min(3, n - environment.byzantine)),
        ownerWish: 0.02 + random.next() * 0.1,
        router: random.chance(0.3) ? ("equivocates" as const) : ("correct" as const),
        routerFault: 0.03,
        laneLossOf: random.pick(["certificates", "certificates", "certificates", "evidence", "any"] as const),
        laneLoss: 0.2 + random.next() * 0.6,
        deafness: random.chance(0.3) ? 0.03 : 0,
        bagLoss: random.next() * 0.2,
        steps: n * (60 + random.below(120)),
      };
    },
  },
  /** A correct Router; crashes, losses, gaps, clocks and absent members as they come. */
  weather: {
    weight: 7,
    draw: (random) => {
      const environment = sized(random);
      const f = faultsOf(environment.n);
      const liars = random.chance(0.5) ? withLiars(random, environment) : environment;
      const absent = random.chance(0.7) ? random.below(f - liars.byzantine + 1) : 0;
      return { ...liars, absent, nuisance: liars.byzantine > 0 && random.chance(0.4) };
    },
  },
  /** A conversation that has yet to begin, under a Router that may change meanwhile. */
  opening: {
    weight: 9,
    draw: (random) => {
      const contactPolicy = random.chance(0.4) ? 0.02 : 0;
      const environment = { ...sized(random), opened: false, contactPolicy };
      const liars = random.chance(0.3) ? withLiars(random, environment) : environment;
      const router = random.pick(["correct", "correct", "replaced", "rolls-back", "equivocates"] as const);
      return { ...liars, router, routerFault: router === "correct" ? 0 : 0.02 };
    },
  },
  slow: { weight: 2, draw: (random) => underRouter(random, "slow", 0.02) },
  restarts: { weight: 3, draw: (random) => underRouter(random, "restarts", 0.02) },
  "rolled-back": { weight: 6, draw: (random) => underRouter(random, "rolls-back", 0.03) },
  replaced: { weight: 7, draw: (random) => underRouter(random, "replaced", 0.02) },
  equivocating: { weight: 6, draw: (random) => underRouter(random, "equivocates", 0.05) },
  /** One liar of four, or two of seven, with everything that liars can do. */
  liars: {
    weight: 8,
    draw: (random) => ({ ...lying(random, false), splitting: random.chance(0.2) }),
  },
  /** The same liars, who only never propose. */
  nuisance: { weight: 4, draw: (random) => lying(random, true) },
  links: {
    weight: 5,
    draw: (random) => ({
      ...sized(random),
      disconnect: random.next() * 0.05,
      partition: 0.005 + random.next() * 0.02,
      bagLoss: random.next() * 0.7,
      repeat: random.next() * 0.3,
    }),
  },
  disks: {
    weight: 5,
    draw: (random) => ({
      ...sized(random),
      crash: random.next() * 0.1,
      die: random.next() * 0.1,
      diskFull: random.next() * 0.02,
    }),
  },
  clocks: { weight: 3, draw: (random) => ({ ...sized(random), clockJump: 0.01 + random.next() * 0.05 }) },
  /** Liars who have made one kind of lie their business, in the weather that favours it. */
  schemes: {
    weight: 7,
    draw: (random) => {
      const environment = lying(random, false);
      const scheme = random.pick(schemeNames);
      const isReplaced = scheme === "old-words" && random.chance(0.7);
      return {
        ...environment,
        scheme,
        secretive: scheme === "revivals" || environment.secretive,
        mischief: 0.2 + random.next() * 0.4,
        opened: true,
        authors: Math.max(environment.authors, 2),
        ownerWish: 0.02 + random.next() * 0.08,
        ownerWithdraw: scheme === "revivals" ? 0.02 : environment.ownerWithdraw,
        postsPerAuthor: scheme === "revivals" ? 8 : environment.postsPerAuthor,
        router: isReplaced ? ("replaced" as const) : ("correct" as const),
        routerFault: isReplaced ? 0.02 : 0,
        laneLossOf: random.pick(["certificates", "evidence", "any"] as const),
        laneLoss: random.next() * 0.6,
        bagLoss: random.next() * (scheme === "revivals" ? 0.7 : 0.4),
        steps: environment.n * (60 + random.below(100)),
      };
    },
  },
  /** Everything at once. */
  chaos: {
    weight: 6,
    draw: (random) => {
      const router = random.pick(["slow", "restarts", "rolls-back", "replaced", "equivocates"] as const);
      const environment = random.chance(0.5) ? lying(random, false) : withLiars(random, sized(random));
      return {
        ...environment,
        router,
        routerFault: 0.02,
        crash: 0.02,
        die: 0.01,
        opened: random.chance(0.8),
      };
    },
  },
  /** Conversations of ten and of 32 members. */
  large: {
    weight: 1,
    draw: (random) => {
      const n = random.chance(0.5) ? 10 : 32;
      const environment = weather(random, n);
      const liars = random.chance(0.5) ? withLiars(random, environment) : environment;
      return { ...liars, steps: n * (10 + random.below(30)), postsPerAuthor: 1 + random.below(3) };
    },
  },
  /** A member whose disk comes back older than it was. */
  restored: {
    weight: 5,
    draw: (random) => {
      const environment = random.chance(0.5)
        ? sized(random)
        : weather(random, random.pick([2, 3, 4, 4, 4, 4, 7]));
      const { n, authors } = environment;
      const most = n < 4 ? 1 : faultsOf(n);
      const silent = n > 3 && random.chance(0.3);
      const restored = silent ? 1 : 1 + random.below(most);
      // What an old disk has forgotten is votes, and at times rounds, which others may have missed.
      const isChanging = random.chance(0.6);
      const byzantine = random.chance(0.3) ? Math.max(0, Math.min(1, faultsOf(n) - restored)) : 0;
      return {
        ...environment,
        restored,
        silent,
        byzantine,
        mischief: byzantine === 0 ? 0 : 0.1 + random.next() * 0.3,
        authors: Math.min(authors, n - byzantine),
        lateAnswers: random.chance(0.5) ? 0.3 : 0,
        // Whoever comes back late has lost nothing that still matters.
        restart: 0.1,
        connect: 0.1,
        opened: byzantine > 0 || random.chance(0.8),
        ownerWish: isChanging ? 0.01 + random.next() * 0.05 : environment.ownerWish,
        ...(isChanging && random.chance(0.7)
          ? { deafness: 0.03, laneLossOf: random.pick(["evidence", "any"] as const) }
          : {}),
      };
    },
  },
  /** Members who wish for rounds that nobody is near, where the word of one moves all: from four on it moves nobody. */
  slips: {
    weight: 2,
    draw: (random) => ({
      ...weather(random, random.pick([2, 2, 3])),
      slip: 0.002 + random.next() * 0.03,
      ownerWish: random.next() * 0.02,
      opened: random.chance(0.8),
    }),
  },
  /** Real stores and hosts, turns that are lost at every point, and now and then more posts than a page holds. */
  ingress: {
    weight: 3,
    draw: (random) => {
      const n = random.pick([2, 2, 3, 4, 4, 5]);
      const environment = weather(random, n);
      const isForgetful = random.chance(0.3);
      const drawn = isForgetful || random.chance(0.6) ? environment : withLiars(random, environment);
      const isLong = n < 4 && random.chance(0.2);
      return {
        ...drawn,
        ingress: true,
        opened: random.chance(0.8),
        restored: isForgetful ? 1 : 0,
        // An author that dies says nothing more before it starts again.
        crash: random.next() * (isLong ? 0.01 : 0.05),
        die: random.next() * (isLong ? 0.005 : 0.1),
        diskFull: random.next() * 0.01,
        restart: 0.1,
        connect: 0.1,
        authors: isLong ? n : drawn.authors,
        postsPerAuthor: isLong ? Math.ceil(160 / n) + random.below(40) : drawn.postsPerAuthor,
      };
    },
  },
} as const satisfies { readonly [name: string]: Scenario };

export type ScenarioName = keyof typeof scenarios;
export const scenarioNames = Object.keys(scenarios) as ReadonlyArray<ScenarioName>;

/** One run of so many goes with real keys, sealing and stores. */
export const realEvery = 100;

/** The scenario of a seed when all are run, by their weights. */
export const scenarioOf = (random: Random): ScenarioName => {
  const total = scenarioNames.reduce((sum, name) => sum + scenarios[name].weight, 0);
  let left = random.below(total);
  for (const name of scenarioNames) {
    left -= scenarios[name].weight;
    if (left < 0) return name;
  }
  return "weather";
};

/** What liars are after in scenarios that leave it open: mostly everything, at times one kind of lie, or one single deed. */
export const bent = (environment: Environment, random: Random): Environment => {
  if (environment.byzantine === 0) return environment;
  const scheme = environment.scheme ?? (random.chance(0.2) ? random.pick(schemeNames) : null);
  return { ...environment, scheme, stubborn: random.chance(0.1) };
};

/** Sealing and curves cost a hundred times as much, so real runs stay small. They are real from the wire to the inbox. */
export const draw = (name: ScenarioName, random: Random): Environment => {
  const isReal = random.below(realEvery) === 0;
  const environment = scenarios[name].draw(random);
  return isReal
    ? { ...environment, real: true, ingress: true, steps: Math.min(environment.steps, 300) }
    : environment;
};
