// Callbacks from a process of its own, for tests of the environment and of what is loaded when. Arguments: a port where a
// receiver listens, the file of its authority. Prints one line of JSON.

import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import process from "node:process";
import type { CallbackUrl } from "../../src/callbacks/CallbackUrl.ts";

const loaded: Array<string> = [];
registerHooks({
  load: (url, context, next) => {
    loaded.push(url);
    return next(url, context);
  },
});
const isClient = (url: string): boolean => /\/node_modules\/(undici|@effect\/platform-node)\//.test(url);
const clientFiles = (): number => loaded.filter(isClient).length;

await import("../../src/Endpoint.ts");
const { makeCallbackClient } = await import("../../src/callbacks/CallbackClient.ts");
const { parse } = await import("../../src/callbacks/CallbackUrl.ts");

const [port = "", authorityFile = ""] = process.argv.slice(2);
const client = makeCallbackClient({
  clock: () => 0,
  test: {
    addresses: [Uint8Array.from([127, 0, 0, 1])],
    certificateAuthority: readFileSync(authorityFile, "utf8"),
  },
  resolver: () => Promise.resolve(["127.0.0.1"]),
});
const idle = clientFiles();
const url = parse(`https://receiver.example:${port}/hook`) as CallbackUrl;
const answer = await client.post({ url, headers: {}, body: new Uint8Array() }, new AbortController().signal);
await client.close();
const outcome = answer.kind === "answered" ? answer.status : answer.category;
process.stdout.write(JSON.stringify({ idle, busy: clientFiles() > 0, all: loaded.length, outcome }));
