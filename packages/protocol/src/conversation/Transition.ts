// The conversation fold: transition(state, event, inputs) -> {state, commands}. The table below is total: a new phase or a
// new kind of packet does not compile until each of its cells is decided. Pure: no I/O, no clock, no randomness.
// Implements HIS-37 and HIS-38.

import type { Command } from "./Command.ts";
import { askAnew, fallBehind } from "./Behind.ts";
import { takeRefusal, takeWithdrawal, withdraw } from "./Refusals.ts";
import { askRoundsAnew, loseMemory } from "./Restored.ts";
import * as CatchUp from "./CatchUp.ts";
import { Draft } from "./Draft.ts";
import type { Event, Inputs, ReceivedOf } from "./Event.ts";
import { conversationOf, type PacketKind } from "./Packet.ts";
import { takeProposal } from "./Proposals.ts";
import * as Rounds from "./Rounds.ts";
import { settle } from "./Settle.ts";
import { takeReanchor } from "./Leadership.ts";
import { takeStatement } from "./Statements.ts";
import { takeWish, wishAnew } from "./Wishes.ts";
import { type Phase, phaseOf, type State } from "./State.ts";
import { mendTimes, resume, tick } from "./Timers.ts";
import { takeActionCertificate, takeNotice, takeVotes } from "./Votes.ts";

type EventKind = Exclude<Event["kind"], "packet"> | PacketKind;
type PayloadOf<K extends EventKind> = K extends PacketKind ? ReceivedOf<K> : Extract<Event, { kind: K }>;
type Cell<K extends EventKind> = (draft: Draft, payload: PayloadOf<K>) => void;
export type TransitionTable = { readonly [P in Phase]: { readonly [K in EventKind]: Cell<K> } };

/** Nothing happens beyond Settle.ts. */
const nothing = (): void => undefined;

/** Only the endpoint knows the Router's key: it verifies the proof, keeps it, and gives a true one as `wish-round`. */
const forEndpoint = (draft: Draft): void => draft.note("a proof about the Router did not verify");

/** There is a connection to ask over: for what is lacking, and for the rounds of others by a member without memory. */
const folded = (draft: Draft): void => {
  askRoundsAnew(draft);
  askAnew(draft);
};

/** What the Router lost may have been anything: the members are asked. */
const gap = (draft: Draft): void => fallBehind(draft, { gap: true }, null);

const anyPhase = {
  submitted: nothing,
  resumed: resume,
  folded,
  gap,
  restored: loseMemory,
  "wish-round": wishAnew,
  withdraw,
  tick,
  proposal_packet: takeProposal,
  vote_packet: takeVotes,
  action_certificate: takeActionCertificate,
  certified_notice: takeNotice,
  catch_up_request: CatchUp.answerCatchUp,
  record_request: CatchUp.answerRecordRequest,
  refusal: takeRefusal,
  withdrawal: takeWithdrawal,
  wish: takeWish,
  statement_packet: takeStatement,
  completed_reanchor: takeReanchor,
  equivocation_proof: forEndpoint,
} as const;

export const table: TransitionTable = {
  opening: { ...anyPhase, catch_up_page: nothing, record_response: CatchUp.takeRecordResponse },
  open: { ...anyPhase, catch_up_page: nothing, record_response: CatchUp.takeRecordResponse },
  behind: {
    ...anyPhase,
    catch_up_page: CatchUp.takeCatchUpPage,
    record_response: CatchUp.takeRecordResponse,
  },
};

const apply = <K extends EventKind>(draft: Draft, phase: Phase, kind: K, payload: PayloadOf<K>): void => {
  const cell = table[phase][kind] as Cell<K>;
  cell(draft, payload);
};

export const transition = (
  state: State,
  event: Event,
  inputs: Inputs,
): { readonly state: State; readonly commands: ReadonlyArray<Command> } => {
  const draft = new Draft(state, inputs);
  mendTimes(draft);
  const phase = phaseOf(state);
  if (event.kind === "packet") {
    const { packet } = event;
    const { members } = inputs;
    if (members.indexOf(event.from) < 0) draft.note("a packet came from an agent that is not a member");
    else if ((conversationOf(packet) ?? members.conversationId) !== members.conversationId)
      draft.note("a packet names another conversation");
    else {
      Rounds.hear(draft, event.from);
      apply(draft, phase, packet.kind, event as never);
    }
  } else {
    apply(draft, phase, event.kind, event as never);
  }
  settle(draft);
  return draft.finish();
};
