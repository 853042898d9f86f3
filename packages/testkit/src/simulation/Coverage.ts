// Which cells of the transition table a run has reached, and how often: every phase with every kind of event. A simulation
// that never comes to a cell says nothing about it.

import type { Event } from "@social-harness/protocol/conversation/Event";
import { conversationOf } from "@social-harness/protocol/conversation/Packet";
import { phaseOf } from "@social-harness/protocol/conversation/State";
import { table } from "@social-harness/protocol/conversation/Transition";
import type { Member, World } from "./FoldWorld.ts";

/** By `phase kind`. */
export type Cells = { readonly [cell: string]: number };

const cellOf = (phase: string, kind: string): string => `${phase} ${kind}`;

export const allCells: ReadonlyArray<string> = Object.entries(table).flatMap(([phase, row]) =>
  Object.keys(row).map((kind) => cellOf(phase, kind)),
);

export interface Coverage {
  readonly observe: (world: World) => void;
  readonly cells: () => Cells;
}

export const createCoverage = (): Coverage => {
  const counts = new Map<string, number>(allCells.map((cell) => [cell, 0]));
  const observe = (world: World): void => {
    const { members } = world;
    /** The table is asked only about packets of members that do not name another conversation. */
    const kindOf = (event: Event): string | null => {
      if (event.kind !== "packet") return event.kind;
      const named = conversationOf(event.packet) ?? members.conversationId;
      const isAsked = members.indexOf(event.from) >= 0 && named === members.conversationId;
      return isAsked ? event.packet.kind : null;
    };
    world.onEvent.push((_: Member, state, event) => {
      const kind = kindOf(event);
      if (kind === null) return;
      const cell = cellOf(phaseOf(state), kind);
      counts.set(cell, (counts.get(cell) ?? 0) + 1);
    });
  };
  return { observe, cells: () => Object.fromEntries(counts) };
};

export const added = (left: Cells, right: Cells): Cells =>
  Object.fromEntries(
    [...new Set([...Object.keys(left), ...Object.keys(right)])].map((cell) => [
      cell,
      (left[cell] ?? 0) + (right[cell] ?? 0),
    ]),
  );

export const unreached = (cells: Cells): ReadonlyArray<string> =>
  allCells.filter((cell) => (cells[cell] ?? 0) === 0);

/** The table with a count in each cell: a line a kind of event, a column a phase. */
export const printed = (cells: Cells): ReadonlyArray<string> => {
  const phases = Object.keys(table);
  const kinds = [...new Set(Object.values(table).flatMap((row) => Object.keys(row)))];
  const line = (first: string, columns: ReadonlyArray<string>): string =>
    `  ${first.padEnd(20)}${columns.map((column) => column.padStart(12)).join("")}`;
  return [
    line("event", phases),
    ...kinds.map((kind) =>
      line(
        kind,
        phases.map((phase) => String(cells[cellOf(phase, kind)] ?? "-")),
      ),
    ),
  ];
};
