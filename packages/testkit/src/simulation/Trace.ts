// A run as lines that people read: which run it is, what arrived where, what was signed, certified, stated and accepted, and
// what it came to. Records and anchors get short names in the order in which they appear. Watches a world and changes nothing.

import type { Command } from "@social-harness/protocol/conversation/Command";
import type { Event } from "@social-harness/protocol/conversation/Event";
import type { Packet } from "@social-harness/protocol/conversation/Packet";
import * as Reanchor from "@social-harness/protocol/history/Reanchor";
import * as Record from "@social-harness/protocol/history/Record";
import type { AgentId, AnchorHash, RecordHash } from "@social-harness/protocol/identity/Identifier";
import type { Member, World } from "./FoldWorld.ts";
import type { Environment } from "./Environment.ts";
import type { ScenarioName } from "./Scenarios.ts";
import { Violation } from "./Violation.ts";

export interface Trace {
  readonly note: (line: string) => void;
  /** What follows belongs to this step of the storm. */
  readonly onStep: (step: number) => void;
}

/** What a trace's first line names. */
export interface Run {
  readonly seed: number;
  readonly scenario: ScenarioName;
  readonly environment: Environment;
  /** What was replaced of the environment that the seed stands for. */
  readonly change: Partial<Environment>;
  /** Steps of the storm that are left out. */
  readonly omitted: number;
}

/** Which run it is, who lies in it, and how to see it again. */
export const headerOf = ({ seed, scenario, environment, change, omitted }: Run): string => {
  const { n, byzantine } = environment;
  const liars = Array.from({ length: byzantine }, (_, i) => n - byzantine + i);
  const who = `members 0 to ${n - 1}, ${liars.length === 0 ? "no liars" : `liars: ${liars.join(" ")}`}`;
  const isWhole = omitted === 0 && Object.keys(change).length === 0;
  const parts = isWhole
    ? ""
    : `, of which this is a part: ${omitted} steps left out, ${JSON.stringify(change)}`;
  return `seed ${seed}, scenario ${scenario}, ${who}; again: npm run sim -- --trace --seed ${seed} --scenario ${scenario}${parts}`;
};

/** A trace's last line, where nothing broke. */
export const heldText = (certified: number): string => `holds: ${certified} records certified`;

/** A trace's last line, where `error` ended the run. */
export const brokenText = (error: unknown): string =>
  `BROKEN: ${error instanceof Violation ? "" : "no oracle's word, "}${error instanceof Error ? error.message : String(error)}`;

type Print = (line: string) => void;

const createNames = (world: World) => {
  const records = new Map<RecordHash, string>();
  const anchors = new Map<AnchorHash, string>();
  const who = (id: AgentId): string => String(world.members.indexOf(id));
  const anchor = (anchorHash: AnchorHash | null): string => {
    if (anchorHash === null) return "none";
    const name = anchors.get(anchorHash) ?? `A${anchors.size}`;
    anchors.set(anchorHash, name);
    return name;
  };
  const record = (recordHash: RecordHash | null): string => {
    if (recordHash === null) return "none";
    const name = records.get(recordHash) ?? `R${records.size}`;
    records.set(recordHash, name);
    return name;
  };
  const core = (recordCore: Record.RecordCore): string => {
    const recordHash = Record.recordHashOf(recordCore);
    const isNew = !records.has(recordHash);
    const name = record(recordHash);
    if (!isNew) return name;
    const { action, anchorHash } = recordCore;
    const place = `height ${action.height} on ${record(action.previousRecordHash)}, ${anchor(anchorHash)}`;
    return `${name} (by ${who(action.authorAgentId)}, ${place})`;
  };
  return { who, anchor, record, core, knows: (recordHash: RecordHash) => records.has(recordHash) };
};

type Names = ReturnType<typeof createNames>;

const signersOf = (names: Names, entries: ReadonlyArray<{ readonly signerAgentId: AgentId }>): string =>
  `[${entries.map(({ signerAgentId }) => names.who(signerAgentId)).join(" ")}]`;

const bodyText = (names: Names, body: Record.ReanchorBody): string =>
  `${names.anchor(Record.anchorHashOf(body))} (round ${body.round}, base ${names.record(body.baseRecordHash)}, carries ${names.record(body.carriedRecordHash)})`;

const votesText = (
  names: Names,
  { actionVotes, durabilityVotes, carryVotes }: Extract<Packet, { kind: "vote_packet" }>,
): string => {
  const part = (
    kind: string,
    votes: ReadonlyArray<{ recordHash: RecordHash; signerAgentId: AgentId }>,
  ): string =>
    votes
      .map(
        ({ recordHash, signerAgentId }) =>
          `${kind} ${names.record(recordHash)} by ${names.who(signerAgentId)}`,
      )
      .join(", ");
  return [part("action", actionVotes), part("durability", durabilityVotes), part("carry", carryVotes)]
    .filter((text) => text !== "")
    .join(", ");
};

const packetText = (names: Names, packet: Packet): string => {
  switch (packet.kind) {
    case "proposal_packet":
      return `proposal ${names.core(packet.recordCore)}`;
    case "vote_packet":
      return `votes: ${votesText(names, packet)}`;
    case "action_certificate":
      return `action certificate ${names.record(packet.recordHash)} ${signersOf(names, packet.signatures)}`;
    case "certified_notice":
      return `certified notice ${names.record(packet.recordHash)} ${signersOf(names, packet.durabilityVotes)}`;
    case "wish":
      return `wish for round ${packet.round}`;
    case "statement_packet": {
      const { round, head, prepared } = packet.statement;
      return `statement of round ${round}: head ${names.record(head?.recordHash ?? null)}, prepared ${names.record(prepared?.recordHash ?? null)}`;
    }
    case "completed_reanchor":
      return `re-anchor ${bodyText(names, packet.body)} ${signersOf(names, packet.statements)}`;
    case "catch_up_request":
      return `catch-up request above ${names.record(packet.knownRecordHash)}`;
    case "catch_up_page":
      return `catch-up page of ${packet.items.length} above ${names.record(packet.afterRecordHash)}`;
    case "record_request":
      return `request for ${names.record(packet.recordHash)}`;
    case "record_response":
      return `response with ${names.core(packet.recordCore)}`;
    case "refusal":
      return `refusal (${packet.reason})`;
    case "withdrawal":
      return "withdrawal";
    case "equivocation_proof":
      return "equivocation proof";
  }
};

const eventText = (names: Names, event: Event): string => {
  if (event.kind !== "packet") return event.kind;
  const place = event.laneSequence === null ? "alone" : `lane ${event.laneSequence}`;
  return `<- ${names.who(event.from)} ${place}: ${packetText(names, event.packet)}`;
};

/** What a turn did that others may rely on; packets that leave show where they arrive. */
const commandText = (names: Names, command: Command): string | null => {
  switch (command.kind) {
    case "keep-core":
      return names.knows(command.recordHash) ? null : `keeps ${names.core(command.core)}`;
    case "own-vote":
      return `signs ${command.vote} ${names.record(command.recordHash)} in round ${command.round} under ${names.anchor(command.anchorHash)}`;
    case "commit":
      return `certifies ${names.core(command.record.recordCore)}`;
    case "keep-anchor":
      return `keeps anchor ${names.anchor(Reanchor.hashOf(command.anchor))} of round ${Reanchor.bodyOf(command.anchor).round}`;
    case "intent-ended":
      return `intent ends ${command.outcome}`;
    case "note":
      return `notes: ${command.message}`;
    case "multicast":
      return command.packet.kind === "statement_packet" || command.packet.kind === "completed_reanchor"
        ? `multicasts ${packetText(names, command.packet)}`
        : null;
    default:
      return null;
  }
};

export const traceOf = (world: World, print: Print): Trace => {
  const names = createNames(world);
  const started = world.now;
  let step = 0;
  const say = (line: string): void =>
    print(`${String(step).padStart(5)} ${((world.now - started) / 1_000).toFixed(1).padStart(8)}s  ${line}`);
  world.onEvent.push(({ index }: Member, _, event) => {
    if (event.kind !== "tick") say(`${index} ${eventText(names, event)}`);
  });
  world.onCommitted.push(({ member, commands }) => {
    for (const command of commands) {
      const text = commandText(names, command);
      if (text !== null) say(`${member.index} ${text}`);
    }
  });
  return {
    note: (line) => say(`* ${line}`),
    onStep: (next) => {
      step = next;
    },
  };
};
