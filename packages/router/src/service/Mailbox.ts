// One connected agent's mailbox: catches up from the store, then cuts over to what is accepted live, never more than the
// window ahead of the acknowledgments. Copies that are gone show as gaps. Implements RTR-30 to RTR-34.

import type { AgentId } from "@social-harness/protocol/identity/Identifier";
import * as Limits from "../Limits.ts";
import * as Frames from "../wire/Frames.ts";
import { deliveryOf, type MailboxRow, type MailboxState, type RouterStore } from "./RouterStore.ts";

export interface Mailbox {
  /** A new place of this mailbox is on disk: with the body at hand, or without one where its copy was lost. */
  readonly offer: (cursor: number, body: Buffer | null, bytes: number) => void;
  /** The agent has everything up to here; false when it never could have. */
  readonly acknowledge: (cursor: number) => boolean;
  /** Delivers what waits. */
  readonly open: () => void;
  readonly close: () => void;
}

export interface MailboxOptions {
  readonly agentId: AgentId;
  readonly store: RouterStore;
  readonly state: Pick<MailboxState, "acknowledgedCursor" | "tailCursor">;
  readonly windowDeliveriesMax: number;
  readonly windowBytesMax: number;
  readonly write: (frame: Buffer | string) => void;
  /** The store could not be read; the connection cannot go on. */
  readonly onFault: (error: unknown) => void;
}

export const makeMailbox = (options: MailboxOptions): Mailbox => {
  const { agentId, store, write } = options;
  /** Places on the wire without acknowledgment, oldest first. */
  const unacknowledged: Array<{ readonly cursor: number; readonly bytes: number }> = [];
  let unacknowledgedBytes = 0;
  let next = options.state.acknowledgedCursor + 1;
  let tail = options.state.tailCursor;
  /** Bytes of the copy at `next` once it is known not to fit yet; 0 while unknown. */
  let nextBytes = 0;
  let reading = false;
  let closed = false;

  const hasWindow = (bytes: number): boolean =>
    unacknowledged.length === 0 ||
    (unacknowledged.length < options.windowDeliveriesMax &&
      unacknowledgedBytes + bytes <= options.windowBytesMax);

  const advance = (to: number): void => {
    next = to;
    nextBytes = 0;
  };

  const put = (cursor: number, bytes: number, frame: Buffer | string): void => {
    unacknowledged.push({ cursor, bytes });
    unacknowledgedBytes += bytes;
    advance(cursor + 1);
    write(frame);
  };

  const putGap = (fromCursor: number, toCursor: number): void =>
    put(toCursor, 0, Frames.encode({ kind: "gap", fromCursor, toCursor }));

  /** Delivers one stored row, after the gap before it; false when the window has no room for it now. */
  const putRow = async (row: MailboxRow): Promise<boolean> => {
    if (closed || !hasWindow(0)) return false;
    if (row.cursor > next) putGap(next, row.cursor - 1);
    if (!hasWindow(row.bytes)) {
      nextBytes = row.bytes;
      return false;
    }
    const body = await store.body(row.position);
    // While the body was read, an acknowledgment may have passed it, and retention may have taken it.
    if (closed || row.cursor < next) return !closed;
    if (body === null) putGap(row.cursor, row.cursor);
    else put(row.cursor, row.bytes, deliveryOf(row.cursor, body));
    return true;
  };

  const putPage = async (): Promise<void> => {
    const known = tail;
    const rows = store.copies(agentId, next, Limits.mailboxPageRowsMax);
    for (const row of rows) if (!(await putRow(row))) return;
    if (rows.length < Limits.mailboxPageRowsMax && next <= known && hasWindow(0)) putGap(next, known);
  };

  const mayPut = (): boolean => !closed && next <= tail && hasWindow(nextBytes);

  /** The loop ends in the same breath in which it finds nothing to do, so no offer falls between. */
  const read = async (): Promise<void> => {
    if (reading) return;
    reading = true;
    try {
      while (mayPut()) await putPage();
    } catch (error) {
      closed = true;
      options.onFault(error);
    }
    reading = false;
  };

  return {
    offer: (cursor, body, bytes) => {
      tail = Math.max(tail, cursor);
      if (closed || cursor < next) return;
      if (!reading && body !== null && cursor === next && hasWindow(bytes)) {
        put(cursor, bytes, deliveryOf(cursor, body));
      } else {
        void read();
      }
    },
    acknowledge: (cursor) => {
      if (cursor > tail) return false;
      while (unacknowledged.length > 0 && (unacknowledged[0]?.cursor as number) <= cursor) {
        unacknowledgedBytes -= unacknowledged.shift()?.bytes as number;
      }
      if (cursor >= next) advance(cursor + 1);
      void read();
      return true;
    },
    open: () => void read(),
    close: () => {
      closed = true;
    },
  };
};
