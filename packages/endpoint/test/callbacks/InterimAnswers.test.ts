// Answers before the answer: none of them changes what a call comes to, in whatever pieces they arrive.

import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as InterimAnswers from "../../src/callbacks/InterimAnswers.ts";
import * as Limits from "../../src/callbacks/Limits.ts";
import { callOf, failed, receiverFor } from "./Receiver.ts";

const final = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\ntaken";
const hundred = "HTTP/1.1 100 Continue\r\n\r\n";
const hints = "HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n";

const taken = {
  kind: "answered",
  status: 200,
  retryAfterMs: null,
  body: Uint8Array.from(Buffer.from("taken")),
};

const before: Readonly<Record<string, string>> = {
  "a 100": hundred,
  "a 102": "HTTP/1.1 102 Processing\r\n\r\n",
  "a status without words": "HTTP/1.1 100\r\n\r\n",
  "a 100 of HTTP/1.0": "HTTP/1.0 100 Continue\r\n\r\n",
  "several of different kinds": `${hints}${hundred}${hints}${hundred}`,
  "a thousand": hundred.repeat(1_000),
  nothing: "",
};

for (const [name, interim] of Object.entries(before)) {
  verifies("ING-264", `an answer after ${name} is the answer`, async () => {
    const receiver = await receiverFor(({ socket }) => void socket.end(`${interim}${final}`));
    expect(await callOf(receiver)).toEqual(taken);
  });
}

verifies("ING-264", "a 100 counts for nothing where no answer follows, or one that is broken", async () => {
  const outcomes: ReadonlyArray<readonly [string, ReturnType<typeof failed>]> = [
    [hundred, failed("connection-lost")],
    [`${hundred}HTTP/1.1 2`, failed("connection-lost")],
    [hundred.slice(0, -1), failed("connection-lost")],
    [`${hundred}HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n`, failed("connection-lost")],
    [`${hundred}garbage\r\n\r\n`, failed("answer-malformed")],
    [
      `HTTP/1.1 100 Continue\r\nx: ${"y".repeat(4 * Limits.interimBytesMax)}\r\n\r\n`,
      failed("answer-malformed"),
    ],
  ];
  for (const [said, outcome] of outcomes) {
    const receiver = await receiverFor(({ socket }) => void socket.end(said));
    expect([said.slice(0, 60), await callOf(receiver)]).toEqual([said.slice(0, 60), outcome]);
  }
});

verifies("ING-264", "in whatever pieces it comes, exactly what is before the answer is left out", () => {
  const said = Buffer.from(`${hundred}${hints}${final}${hundred}`, "latin1");
  for (let size = 1; size <= said.length; size++) {
    const filter = InterimAnswers.createFilter();
    const read: Array<Buffer> = [];
    for (let at = 0; at < said.length; at += size) read.push(filter(said.subarray(at, at + size)));
    read.push(filter(null));
    expect(Buffer.concat(read).toString("latin1")).toBe(`${final}${hundred}`);
  }
});

verifies("ING-264", "what is no interim answer is not held back, and no more than one head is", () => {
  const through = [
    "220 mail ESMTP\r\n",
    "HTTP/2.0 100 ",
    "HTTP/1.1 1000 ",
    "HTTP/1.1 101 ",
    "HTTP/1.1 200 ",
    "\0",
  ];
  for (const said of through) {
    expect(InterimAnswers.createFilter()(Buffer.from(said, "latin1")).toString("latin1")).toBe(said);
  }
  const filter = InterimAnswers.createFilter();
  const endless = Buffer.from(
    `HTTP/1.1 103 Early Hints\r\nx: ${"y".repeat(Limits.interimBytesMax)}`,
    "latin1",
  );
  const kept = endless.subarray(0, Limits.interimBytesMax);
  expect(filter(kept)).toHaveLength(0);
  expect(filter(endless.subarray(kept.length))).toEqual(endless);
});
