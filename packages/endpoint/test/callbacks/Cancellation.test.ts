// Calls that their caller gives up, many calls at once, and what is left of all of them: nothing.

import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import {
  eventually,
  localClient,
  never,
  receiverFor,
  requestTo,
  tcpFor,
  urlAt,
  type Receiver,
} from "./Receiver.ts";

const stopped = new Error("stopped by the caller");

verifies(
  "ING-74",
  "a call that is cancelled ends with the caller's reason and leaves no connection",
  async () => {
    const stages: ReadonlyArray<() => Promise<Receiver>> = [
      () => receiverFor(() => undefined),
      () => receiverFor((_request, response) => void response.writeHead(200).flushHeaders()),
      () => tcpFor(() => undefined),
    ];
    for (const stage of stages) {
      const receiver = await stage();
      const controller = new AbortController();
      const calling = localClient().post(requestTo(urlAt(receiver)), controller.signal);
      const settled = expect(calling).rejects.toBe(stopped);
      await eventually(() => receiver.open() === 1);
      controller.abort(stopped);
      await settled;
      await eventually(() => receiver.open() === 0);
      expect(receiver.connections()).toBe(1);
    }
  },
);

verifies(
  "ING-74",
  "a call cancelled during its query takes the query back, and one cancelled before it asks nothing",
  async () => {
    const asked: Array<AbortSignal> = [];
    const arrived = Promise.withResolvers<void>();
    const client = localClient({
      resolver: (_name, signal) => {
        asked.push(signal);
        arrived.resolve();
        return new Promise(() => undefined);
      },
    });
    const request = requestTo("https://receiver.example/");
    const controller = new AbortController();
    const settled = expect(client.post(request, controller.signal)).rejects.toBe(stopped);
    await arrived.promise;
    controller.abort(stopped);
    await settled;
    expect(asked.map(({ aborted }) => aborted)).toEqual([true]);
    await expect(client.post(request, AbortSignal.abort(stopped))).rejects.toBe(stopped);
    expect(asked).toHaveLength(1);
  },
);

verifies("ING-74", "closing the client ends what is under way, and nothing goes out afterwards", async () => {
  const receiver = await receiverFor(() => undefined);
  const client = localClient();
  const settled = expect(client.post(requestTo(urlAt(receiver)), never)).rejects.toThrow("closed");
  await eventually(() => receiver.open() === 1);
  await client.close();
  await settled;
  await eventually(() => receiver.open() === 0);
  await expect(client.post(requestTo(urlAt(receiver)), never)).rejects.toThrow("closed");
  await client.close();
  expect(receiver.connections()).toBe(1);
});

verifies(
  "ING-74",
  "a header that nobody can write is the caller's defect and no failure of the receiver",
  async () => {
    const receiver = await receiverFor((_request, response) => void response.end());
    const request = { ...requestTo(urlAt(receiver)), headers: { "webhook-id": "a\nb" } };
    await expect(localClient().post(request, never)).rejects.toThrow();
    expect(receiver.requests).toEqual([]);
  },
);

verifies("ING-74", "many calls at once each get their own answer", async () => {
  const receiver = await receiverFor((request, response) => {
    request.pipe(response);
  });
  const client = localClient();
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, i) => client.post(requestTo(urlAt(receiver), `{"n":${i}}`), never)),
  );
  expect(answers.map((answer) => answer.kind === "answered" && Buffer.from(answer.body).toString())).toEqual(
    Array.from({ length: 64 }, (_, i) => `{"n":${i}}`),
  );
  expect(receiver.connections()).toBe(64);
  await eventually(() => receiver.open() === 0);
});
