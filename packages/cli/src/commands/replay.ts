// `replay`: one endpoint an agent, a line at a time, each sent only when the one before is certified and readable at every
// recipient. Implements RUN-06.

import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { act, define, type Context } from "../Command.ts";
import { failed, tryAgain } from "../Failure.ts";
import * as Lab from "../lab/Lab.ts";
import { heldBy, send, takeInUntil } from "../lab/Post.ts";
import { interruptible } from "../lab/Interruptible.ts";
import { faultLine, isGood, Tally } from "../lab/Tally.ts";
import * as Trace from "../lab/Trace.ts";
import { oneLine } from "../text/Visible.ts";

/** From a post's certification to its item at the last recipient; usually a few milliseconds. */
const readableMsMax = 60_000;

const readTrace = async (path: string): Promise<Trace.Trace> => {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw failed(
      "file-unreadable",
      `${path} cannot be read: ${reason}`,
      "Give the path of a conversation file.",
    );
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw failed("trace-invalid", `${path} is not UTF-8`, "Save it as UTF-8 and run replay again.");
  }
  return Trace.parse(text);
};

const play = async ({ output }: Context<object>, lab: Lab.Lab, tally: Tally, trace: Trace.Trace) => {
  for (const line of trace.lines) {
    const key = `line ${line.number}`;
    const postId = await send(tally, lab.agent(line.from), line.recipients, line.text, key);
    const recipients = line.recipients.map(lab.agent);
    const arrived = await takeInUntil(
      tally,
      recipients,
      (agent) => tally.has(agent.name, line.from, postId),
      readableMsMax,
    );
    if (!arrived) {
      throw failed("not-readable", `line ${line.number} did not reach every recipient in time`, tryAgain);
    }
    output.say(
      `${line.from} to ${line.recipients.join(", ")}: ${output.style("dim", oneLine(line.text, 80))}`,
    );
  }
};

const run = async (context: Context<object>, path: string): Promise<void> => {
  const { output } = context;
  const trace = await readTrace(path);
  if (trace.lines.length === 0) {
    output.result({ ok: true, agents: [], recordsVerified: 0 }, "The file has no lines: nothing to replay.");
    return;
  }
  const tally = new Tally();
  const { verdict, recordsVerified } = await interruptible(async (cleanUp) => {
    const lab = await output.during(
      `Starting ${trace.names.length} endpoints`,
      Lab.open(trace.names, cleanUp),
    );
    await play(context, lab, tally, trace);
    const held = (
      await Promise.all(lab.agents.map((agent) => heldBy(agent, lab.network.registryKey)))
    ).flat();
    return {
      verdict: tally.verdict(held),
      recordsVerified: held.reduce((sum, { recordHashes }) => sum + recordHashes.length, 0),
    };
  });
  const ok = isGood(verdict);
  const agents = trace.names.map((name) => ({ name, received: tally.receivedBy(name) }));
  const counts = `${verdict.itemsDelivered} of ${verdict.itemsExpected} items delivered, ${recordsVerified} records verified`;
  output.result(
    { ok, agents, recordsVerified },
    ok ? output.style("green", `every post reached every member once and in order: ${counts}`) : undefined,
  );
  if (!ok) {
    throw failed(
      "replay-failed",
      faultLine(verdict),
      "This is a defect of social-harness: keep the file and report it.",
    );
  }
};

export const replay = (parent: Command): void => {
  const command = define(parent, {
    name: "replay",
    summary: "replay a conversation file with one endpoint an agent",
    examples: [
      ["replay talk.jsonl", 'lines of {"from": name, "to": [names], "text": string}'],
      ["replay talk.jsonl --json", "what each agent received, for a program"],
    ],
  }).argument("<file>", "JSON lines");
  act<object, [string]>(command, run);
};
