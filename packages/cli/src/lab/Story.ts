// What happens in the demo, scene by scene: direct posts, a group, an endpoint that is away, one that is killed. Each scene
// ends when everybody has read what it was sent.

import * as Schema from "effect/Schema";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import type { Output } from "../Output.ts";
import { failed, tryAgain } from "../Failure.ts";
import type { Lab } from "./Lab.ts";
import { send, takeInUntil } from "./Post.ts";
import type { Tally } from "./Tally.ts";

const nameOf = Schema.decodeSync(AgentName.schema);
const ada = nameOf("ada-agent");
const bob = nameOf("bob-agent");
const cyd = nameOf("cyd-agent");
const dan = nameOf("dan-agent");
export const cast: ReadonlyArray<AgentName.AgentName> = [ada, bob, cyd, dan];
const othersThan = (name: AgentName.AgentName): ReadonlyArray<AgentName.AgentName> =>
  cast.filter((one) => one !== name);

/** A scene is over in a second or two; an endpoint that is back may have to wait for a member's silence to pass. */
const sceneMsMax = 45_000;
/** Posts that each agent sends to the group, and each to its neighbour, while one of them is killed. */
const trafficRounds = 4;

interface Stage {
  readonly output: Output;
  readonly lab: Lab;
  readonly tally: Tally;
}

/** Plays `acts` while everybody reads, until all that was sent has been read. */
const scene = async (
  { output, lab, tally }: Stage,
  title: string,
  acts: () => Promise<void>,
): Promise<void> => {
  output.say(output.style("bold", title));
  let played = false;
  const reading = takeInUntil(
    tally,
    lab.agents,
    (agent) => played && tally.missingAt(agent.name) === 0,
    sceneMsMax,
  );
  const acting = acts().finally(() => {
    played = true;
  });
  const [, arrived] = await Promise.all([acting, reading]);
  if (!arrived)
    throw failed("not-readable", `not everything was read in time: ${title}`, "Run the demo again.");
};

/** Says something and shows it. The text names the post, so that its key is its own. */
const says = async (
  { output, lab, tally }: Stage,
  from: AgentName.AgentName,
  to: ReadonlyArray<AgentName.AgentName>,
  text: string,
) => {
  await send(tally, lab.agent(from), to, text, `demo: ${text}`);
  output.say(`  ${from} to ${to.length === 1 ? to[0] : "the group"}: ${output.style("dim", text)}`);
};

const traffic = async ({ lab, tally }: Stage, name: AgentName.AgentName): Promise<void> => {
  const neighbour = cast[(cast.indexOf(name) + 1) % cast.length] as AgentName.AgentName;
  for (let round = 1; round <= trafficRounds; round++) {
    const text = `round ${round} of ${name}`;
    await send(tally, lab.agent(name), othersThan(name), `${text} to all`, `${text} to all`);
    await send(tally, lab.agent(name), [neighbour], `${text} to you`, `${text} to you`);
  }
};

/** Plays the whole story; resolves with the number of restarts in it. */
export const play = async (stage: Stage): Promise<number> => {
  const { output, lab } = stage;

  await scene(stage, "Two agents talk, each through its own endpoint", async () => {
    await says(stage, ada, [bob], "Could we meet on Tuesday?");
    await says(stage, bob, [ada], "Tuesday at ten suits me. 👍");
    await says(stage, ada, [bob], "Booked: Tuesday, 10:00.");
  });

  await scene(stage, "A group of four opens: its first post needs everybody's signature", async () => {
    await says(stage, ada, othersThan(ada), "Staff meeting on Wednesday at 13:00: who comes?");
    await says(stage, bob, othersThan(bob), "I do.");
    await says(stage, cyd, othersThan(cyd), "Me too. À bientôt — ‎שלום");
  });

  await scene(stage, `${cyd} goes offline; three of four are a quorum, so the group goes on`, async () => {
    if (!(await lab.agent(cyd).stop())) throw failed("not-stopped", `${cyd} did not stop cleanly`, tryAgain);
    await says(stage, dan, othersThan(dan), "I cannot on Wednesday. Thursday?");
    await says(stage, ada, othersThan(ada), "Thursday at 13:00 then.");
    const toCyd = says(stage, bob, [cyd], "Are you there? It is Thursday now.");
    await lab.agent(cyd).start();
    output.say(`  ${cyd} is back and catches up`);
    await toCyd;
  });

  await scene(stage, `Everybody posts at once, and ${dan} is killed in the middle (SIGKILL)`, async () => {
    const posting = Promise.all(cast.map((name) => traffic(stage, name)));
    const killing = (async () => {
      await takeSome(stage, dan);
      await lab.agent(dan).kill();
      output.say(`  ${dan} is gone without a goodbye`);
      await lab.agent(dan).start();
      output.say(`  ${dan} has checked its store and goes on`);
    })();
    await Promise.all([posting, killing]);
  });
  return 2;
};

/** Waits until the traffic is well under way: some of it has been certified, much of it has not. */
const takeSome = async ({ tally }: Stage, victim: AgentName.AgentName): Promise<void> => {
  const before = tally.postsSent;
  const until = performance.now() + sceneMsMax;
  while (tally.postsSent < before + cast.length && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  if (tally.postsSent === before)
    throw failed("no-traffic", `nothing was certified before ${victim} was killed`, tryAgain);
};
