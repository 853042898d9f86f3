// The commands that a person is told to type, as they are for an endpoint and for a network that were named.

import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { failureOf, runHere } from "../Binary.ts";
import { naming } from "../../src/text/Hints.ts";

verifies(
  "RUN-80",
  "each command between backticks names the same endpoint, once, in a form that a shell takes",
  () => {
    const text = "Look: `social-harness history`, or `social-harness inbox --json`; `send` is none.";
    expect(naming({}, text)).toBe(text);
    expect(naming({ state: "./ada" }, text)).toBe(
      "Look: `social-harness history --state ./ada`, or `social-harness inbox --json --state ./ada`; `send` is none.",
    );
    expect(naming({ state: "./ada" }, naming({ state: "./ada" }, text))).toBe(
      naming({ state: "./ada" }, text),
    );
    expect(naming({ profile: "work" }, "`social-harness daemon`")).toBe(
      "`social-harness daemon --profile work`",
    );
    expect(naming({ state: "it's mine" }, "`social-harness daemon`")).toBe(
      "`social-harness daemon --state 'it'\\''s mine'`",
    );
    expect(naming({ state: "./ada" }, "`social-harness daemon --help`")).toBe(
      "`social-harness daemon --help`",
    );
    const network = "`social-harness network invite list`";
    expect(naming({ data: "./net" }, network)).toBe("`social-harness network invite list --data ./net`");
    expect(naming({ state: "./ada" }, network)).toBe(network);
  },
);

verifies(
  ["RUN-80", "RUN-18", "RUN-87"],
  "also what is found before any daemon is asked says so",
  async () => {
    const nextOf = async (...words: ReadonlyArray<string>): Promise<string> =>
      failureOf(await runHere([...words, "--json"])).next;
    expect(await nextOf("ack", "dlv_x", "--state", "./ada")).toBe(
      "It is dlv_ and 43 characters. Copy it from `social-harness inbox --state ./ada`.",
    );
    expect(await nextOf("withdraw", `pst_${"A".repeat(42)}B`, "--profile", "work")).toBe(
      "It has the right length, but a letter of it is wrong: none ends so. " +
        "Copy it from what `send` printed, or from `social-harness status --profile work`.",
    );
    expect(await nextOf("network", "invite", "revoke", "x", "--data", "./net")).toBe(
      "Copy the inv_... from `social-harness network invite list --data ./net`.",
    );
    expect(await nextOf("round", "wish", "cnv_x")).toContain("cnv_ and 43 characters");
  },
);
