// A conversation file for `replay`: one JSON object a line, checked whole before anything starts, so that a bad line is
// named by its number and not by a failure in the middle. Implements RUN-06.

import * as Schema from "effect/Schema";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Content from "@social-harness/protocol/history/Content";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import * as Limits from "@social-harness/protocol/Limits";
import { failed, type Failure } from "../Failure.ts";

export interface Line {
  /** Counted from 1, blank lines too. */
  readonly number: number;
  readonly from: AgentName.AgentName;
  /** Everybody but the sender, each once, in name order. */
  readonly recipients: ReadonlyArray<AgentName.AgentName>;
  readonly text: string;
}

export interface Trace {
  readonly lines: ReadonlyArray<Line>;
  /** Everybody who is named anywhere, in name order. */
  readonly names: ReadonlyArray<AgentName.AgentName>;
}

/** One endpoint an agent: more than this does not fit one small machine. */
export const agentsMax = 64;

/** `seq`, `createdAt` and anything else a recorder adds are not needed to replay. */
const Written = Schema.Struct({
  from: Schema.String,
  to: Schema.Array(Schema.String).check(Schema.isMinLength(1), Schema.isMaxLength(1_024)),
  text: Schema.String,
});
const isWritten = Schema.is(Written);

const refuse = (number: number, message: string): Failure =>
  failed(
    "trace-invalid",
    `line ${number}: ${message}`,
    'A line is {"from": name, "to": [names], "text": string}; correct it and run replay again.',
  );

const nameOf = (number: number, field: string, text: string): AgentName.AgentName => {
  if (AgentName.is(text)) return text;
  const shown = JSON.stringify(text.slice(0, 40));
  throw refuse(
    number,
    `"${field}" has ${shown}, which is no agent name (3 to 32 of a-z, 0-9 and single inner hyphens)`,
  );
};

const checkText = (number: number, text: string): void => {
  try {
    const bytes = CanonicalJson.byteLength(Content.ofText(text));
    if (bytes <= Limits.contentBytesMax) return;
    throw refuse(
      number,
      `the text makes ${bytes} bytes of content; at most ${Limits.contentBytesMax} fit a post`,
    );
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw refuse(number, `the text cannot be sent: ${error.message}`);
  }
};

const parseLine = (number: number, text: string): Line => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse(number, "not JSON");
  }
  if (!isWritten(value)) {
    throw refuse(number, '"from" must be a name, "to" a list of at least one name and "text" a string');
  }
  const from = nameOf(number, "from", value.from);
  const named = value.to.map((name) => nameOf(number, "to", name));
  const recipients = [...new Set(named)].filter((name) => name !== from).sort(AgentName.compare);
  if (recipients.length === 0) throw refuse(number, '"to" names nobody but the sender');
  if (recipients.length >= Limits.membersMax) {
    throw refuse(number, `${recipients.length + 1} members; a conversation has at most ${Limits.membersMax}`);
  }
  checkText(number, value.text);
  return { number, from, recipients, text: value.text };
};

/** Throws a `Failure` that names the first bad line. */
export const parse = (text: string): Trace => {
  const lines = text
    .replace(/^\ufeff/, "")
    .split("\n")
    .flatMap((line, index) => (line.trim() === "" ? [] : [parseLine(index + 1, line)]));
  const names = [...new Set(lines.flatMap(({ from, recipients }) => [from, ...recipients]))];
  if (names.length > agentsMax) {
    throw failed(
      "trace-invalid",
      `the file names ${names.length} agents; replay runs at most ${agentsMax} endpoints`,
      "Split the file by its conversations.",
    );
  }
  return { lines, names: names.sort(AgentName.compare) };
};
