// The one question that the endpoint answers to anybody: whether it is the start that wrote endpoint.json.

import { randomBytes } from "node:crypto";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished } from "vitest";
import * as StartSecret from "../../src/state/StartSecret.ts";
import * as RawHttp from "./RawHttp.ts";
import { ownerToken, startEndpoint, startSecret } from "./TestEndpoint.ts";

const challenge = (): string => StartSecret.create(randomBytes);

const ask = (port: number, path: string, post: RawHttp.Post = {}): Promise<RawHttp.Answer> =>
  RawHttp.send(port, { method: "GET", ...post, path });

verifies(
  "RUN-301",
  "the endpoint proves its start in either mode, to whoever asks, and says nothing else",
  async () => {
    for (const mode of ["trusted-local", "credentials"] as const) {
      const endpoint = await startEndpoint({ mode });
      onTestFinished(() => endpoint.close());
      const asked = challenge();
      const callers: ReadonlyArray<Readonly<Record<string, string>>> = [
        {},
        { authorization: "Bearer wrong" },
        { authorization: `Bearer ${ownerToken}` },
      ];
      for (const headers of callers) {
        const { status, text, headers: said } = await ask(endpoint.port, `/challenge/${asked}`, { headers });
        expect([status, text, said["connection"]]).toEqual([
          200,
          StartSecret.answer(startSecret, asked),
          "close",
        ]);
        expect(text).toHaveLength(43);
      }
    }
  },
);

verifies("RUN-301", "another question or another start has another answer", () => {
  const [first, second] = [challenge(), challenge()];
  const other = StartSecret.create(randomBytes);
  const answers = [
    StartSecret.answer(startSecret, first),
    StartSecret.answer(startSecret, second),
    StartSecret.answer(other, first),
  ];
  expect(new Set([startSecret, first, ...answers]).size).toBe(5);
  expect(StartSecret.answer(startSecret, first)).toBe(answers[0]);
});

verifies(
  ["RUN-301", "MGT-70", "MGT-02"],
  "what is no such question meets the gate as before, and a page of another origin gets no answer",
  async () => {
    const endpoint = await startEndpoint({ mode: "credentials" });
    onTestFinished(() => endpoint.close());
    const path = `/challenge/${challenge()}`;
    for (const wrong of [
      "/challenge/",
      `${path}x`,
      path.slice(0, -1),
      `${path}?a`,
      `${path}/`,
      `/mcp${path}`,
    ]) {
      expect([wrong, (await ask(endpoint.port, wrong)).status]).toEqual([wrong, 401]);
    }
    expect((await ask(endpoint.port, path, { method: "POST" })).status).toBe(401);
    const foreign = [{ host: "evil.com" }, { origin: "http://evil.com" }, { "sec-fetch-site": "cross-site" }];
    for (const headers of foreign) {
      expect((await ask(endpoint.port, path, { headers: headers as Record<string, string> })).status).toBe(
        403,
      );
    }
  },
);
