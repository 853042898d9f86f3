// Answers before the answer: a server may say 100, 102 or 103 as often as it likes, unasked too, and a client passes over them.
// undici takes a 100 that it did not ask for as an offence and drops the connection, so it is shown none of them. Knows
// nothing of sockets: bytes in, bytes out. Implements ING-264.

import * as Limits from "./Limits.ts";

/** As much of a status line as tells an interim answer: the version, the status and what ends it. */
const lineBytes = "HTTP/1.1 100 ".length;

/** Not 101: what follows that is another protocol, and none was asked for. */
const interim = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]$/;

const mayBeInterim = (line: string): boolean =>
  line.length < lineBytes ? "HTTP/1.".startsWith(line.slice(0, 7)) : interim.test(line);

/**
 * Takes the chunks of a connection in their order, null for its end, and returns what of them is to be read. Holds back no more
 * than one head; with one that is longer, all is for the reader to refuse.
 */
export const createFilter = (): ((chunk: Buffer | null) => Buffer) => {
  let held: Buffer = Buffer.alloc(0);
  let isOver = false;
  const release = (): Buffer => {
    isOver = true;
    const bytes = held;
    held = Buffer.alloc(0);
    return bytes;
  };
  return (chunk) => {
    if (isOver) return chunk ?? held;
    if (chunk === null) return release();
    held = Buffer.concat([held, chunk]);
    while (mayBeInterim(held.toString("latin1", 0, lineBytes))) {
      const end = held.indexOf("\r\n\r\n");
      if (end === -1) return held.length > Limits.interimBytesMax ? release() : Buffer.alloc(0);
      held = held.subarray(end + 4);
    }
    return release();
  };
};
