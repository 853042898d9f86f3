// A checker that is asked by an HTTP POST: on this machine over a connection of its own, elsewhere through the client that every
// callback goes by. Only a 200 counts; nothing is followed. Implements ING-152 and ING-153.

import { request } from "node:http";
import type { CallbackClient } from "../callbacks/CallbackClient.ts";
import type { CallbackUrl } from "../callbacks/CallbackUrl.ts";
import type { Ask } from "./Ask.ts";
import type { CheckerUrl } from "./CheckerUrl.ts";
import { CheckFailure } from "./CheckFailure.ts";
import * as Limits from "./Limits.ts";

type Headers = Readonly<Record<string, string>>;

const overCallbacks =
  (url: CallbackUrl, headers: Headers, callbacks: CallbackClient | null): Ask =>
  async (body, signal) => {
    if (callbacks === null) throw new CheckFailure("unreachable");
    const answer = await callbacks.post({ url, headers, body }, signal);
    if (answer.kind === "failed") {
      throw new CheckFailure(answer.category === "timeout" ? "timeout" : "unreachable");
    }
    if (answer.status !== 200) throw new CheckFailure("refused");
    return answer.body;
  };

const overLoopback =
  (url: URL, headers: Headers): Ask =>
  (body, signal) =>
    new Promise((resolve, reject) => {
      const fail = (category: "unreachable" | "refused" | "too-large", cause?: unknown): void => {
        asking.destroy();
        reject(new CheckFailure(category, { cause }));
      };
      const asking = request(
        url,
        // A connection of its own, without the pool that the environment's proxies could be set for.
        { method: "POST", agent: false, headers: { ...headers, "content-length": body.byteLength }, signal },
        (answer) => {
          if (answer.statusCode !== 200) return fail("refused");
          const chunks: Array<Uint8Array> = [];
          let bytes = 0;
          answer.on("data", (chunk: Uint8Array) => {
            bytes += chunk.byteLength;
            if (bytes > Limits.answerBytesMax) fail("too-large");
            else chunks.push(chunk);
          });
          answer.once("end", () => resolve(Buffer.concat(chunks)));
          answer.once("error", (error) => fail("unreachable", error));
        },
      );
      asking.once("error", (error) => fail("unreachable", error));
      // A request that is answered by another protocol ends without an error, and leaves its connection to us.
      asking.once("upgrade", (_answer, socket) => {
        socket.destroy();
        fail("refused");
      });
      asking.once("close", () => fail("unreachable"));
      asking.end(body);
    });

export const create = (
  target: CheckerUrl,
  token: string | undefined,
  callbacks: CallbackClient | null,
): Ask => {
  const headers = {
    "content-type": "application/json",
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  return target.kind === "https"
    ? overCallbacks(target.url, headers, callbacks)
    : overLoopback(target.url, headers);
};
