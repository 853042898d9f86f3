import { readFileSync } from "node:fs";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Limits from "../../src/mcp/Limits.ts";
import * as RequestBody from "../../src/mcp/RequestBody.ts";

const page = readFileSync(new URL("../../../../docs/spec/management.md", import.meta.url), "utf8");

/** What the table of limits says, in seconds and MiB where it has a unit. */
const documented = (limit: string): number | null => {
  const row = page.split("\n").find((line) => line.startsWith(`| ${limit} `));
  const number = row?.split("|")[2]?.trim().split(" ")[0];
  return number === undefined ? null : Number(number);
};

verifies(
  ["MGT-11", "MGT-144", "MGT-145", "MGT-146", "MGT-187", "MGT-188", "MGT-189"],
  "the limits are those that the specification's table names",
  () => {
    const limits: ReadonlyArray<readonly [string, number]> = [
      ["connections in use, of each kind of caller", Limits.connectionsMax],
      ["connections on which no caller has spoken yet", Limits.strangersMax],
      ["listeners, of each kind of caller", Limits.catalogListenersMax],
      ["requests that wait on one connection", Limits.requestsWaitingMax],
      ["large answers made at a time, of one tool", Limits.largeAnswersMadeMax],
      ["large answers not yet taken, of one tool and kind", Limits.largeAnswersHeldMax],
      ["for a large answer to be made", Limits.largeAnswerMsMax / 1_000],
      ["for a request to arrive whole", Limits.requestMsMax / 1_000],
      ["for a reader that takes nothing", Limits.readerPatienceMs / 1_000],
      ["for open calls in a stop, and for their last frames again", Limits.stopGraceMs / 1_000],
      ["of a request's body", RequestBody.bytesMax / 1_048_576],
    ];
    for (const [limit, value] of limits) expect([limit, documented(limit)]).toEqual([limit, value]);
  },
);
