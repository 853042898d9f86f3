// `demo`: a network and four endpoints in a temporary folder, real processes and real MCP clients, and the books that show
// whether every post reached everybody once, in order, through an absence and a kill. Implements RUN-05.

import { join } from "node:path";
import type { Command } from "commander";
import * as Address from "@social-harness/protocol/address/Address";
import { act, define, type Context } from "../Command.ts";
import { exportOf, writeWhole } from "../daemon/Exporting.ts";
import { verifyFile } from "../daemon/Verifying.ts";
import { failed } from "../Failure.ts";
import { interruptible, type CleanUp } from "../lab/Interruptible.ts";
import * as Lab from "../lab/Lab.ts";
import { heldBy } from "../lab/Post.ts";
import * as SecondOpinion from "../lab/SecondOpinion.ts";
import * as Story from "../lab/Story.ts";
import { faultLine, isGood, Tally, type Verdict } from "../lab/Tally.ts";
import type { Output } from "../Output.ts";

/** Exports the group as its first member and has it verified twice, offline. Resolves with what is wrong. */
const auditExport = async (output: Output, lab: Lab.Lab): Promise<ReadonlyArray<string>> => {
  const exporter = lab.agents[0] as Lab.LabAgent;
  const file = join(lab.folder, "group.jsonl");
  const { lines } = await exportOf(await exporter.client(), exporter.state, Address.ofGroup(Story.cast));
  await writeWhole(file, lines);
  const { registryKey } = lab.network;
  const { posts } = await verifyFile(file, registryKey);
  output.say(`  ${exporter.name} exported the group: ${posts.length} records, verified offline`);
  const opinion = await SecondOpinion.ask(file, registryKey);
  switch (opinion.kind) {
    case "agrees":
      output.say("  and verified again by tools/verify.py, which shares no code with this program");
      return [];
    case "disagrees":
      return [`tools/verify.py disagrees: ${opinion.words}`];
    case "no-verifier":
      output.say("  (the second verifier, tools/verify.py of the repository, is not here: it was not asked)");
      return [];
    case "no-python":
      output.say("  (no Python 3.11 or newer here for the second verifier, tools/verify.py)");
      return [];
  }
};

interface Outcome {
  readonly verdict: Verdict;
  readonly restarts: number;
  readonly recordsVerified: number;
}

const perform = async (output: Output, tally: Tally, cleanUp: CleanUp): Promise<Outcome> => {
  const lab = await output.during("Starting a network and four endpoints", Lab.open(Story.cast, cleanUp));
  output.say(`A network and four endpoints run in ${lab.folder}`);
  const restarts = await Story.play({ output, lab, tally });
  output.say(output.style("bold", "Every history is read and every signature checked"));
  const held = (await Promise.all(lab.agents.map((agent) => heldBy(agent, lab.network.registryKey)))).flat();
  const recordsVerified = held.reduce((sum, { recordHashes }) => sum + recordHashes.length, 0);
  output.say(`  ${recordsVerified} records in ${held.length} copies of conversations`);
  const faults = await auditExport(output, lab);
  const verdict = tally.verdict(held);
  return { restarts, recordsVerified, verdict: { ...verdict, faults: [...verdict.faults, ...faults] } };
};

const run = async ({ output }: Context<object>): Promise<void> => {
  const started = performance.now();
  const tally = new Tally();
  const { verdict, restarts, recordsVerified } = await interruptible((cleanUp) =>
    perform(output, tally, cleanUp),
  );
  const elapsedMs = Math.round(performance.now() - started);
  const { itemsExpected, itemsDelivered, duplicates, missing, outOfOrder } = verdict;
  const ok = isGood(verdict) && itemsDelivered === itemsExpected && recordsVerified > 0;
  const summary =
    `${tally.postsSent} posts, ${itemsDelivered} of ${itemsExpected} items delivered, ${missing} missing, ` +
    `${duplicates} doubled, ${outOfOrder} out of order, ${restarts} restarts, ${(elapsedMs / 1_000).toFixed(1)} s`;
  output.result(
    {
      ok,
      agents: Story.cast.length,
      postsSent: tally.postsSent,
      itemsExpected,
      itemsDelivered,
      duplicates,
      missing,
      outOfOrder,
      restarts,
      recordsVerified,
      elapsedMs,
    },
    output.style(ok ? "green" : "red", summary),
  );
  if (!ok)
    throw failed("demo-failed", faultLine(verdict), "This is a defect of social-harness: please report it.");
};

export const demo = (parent: Command): void => {
  const command = define(parent, {
    name: "demo",
    summary: "watch four agents talk, lose an endpoint and verify each other's record",
    examples: [
      ["demo", "a short story, well under a minute"],
      ["demo --json", "its counts, for a program"],
    ],
  });
  act<object, []>(command, run);
};
