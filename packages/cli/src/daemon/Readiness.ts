// How a running endpoint stands, asked from its daemon with the owner's token of the state folder. Implements RUN-17.

import * as Schema from "effect/Schema";
import * as OwnerToken from "@social-harness/endpoint/state/OwnerToken";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import { failed, unreachable } from "../Failure.ts";
import { ofReason } from "./Explain.ts";

const Explained = Schema.Struct({ reason: Schema.String, explanation: Schema.String });
const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }));

const Health = Schema.Struct({
  registered: Schema.Boolean,
  routerConnected: Schema.Boolean,
  routerSince: Schema.NullOr(Schema.String),
  routerTrouble: Schema.NullOr(Explained),
  routerEquivocations: Count,
  held: Schema.NullOr(Explained),
  pendingItems: Count,
  pendingPosts: Count,
  pendingAddresses: Schema.Array(Schema.String),
  outboxEnvelopes: Count,
});
export type Health = typeof Health.Type;

const decode = Closed.decoder(Health);
const answerMsMax = 10_000;

const ask = async (url: URL, token: string): Promise<Response> => {
  try {
    const headers = { authorization: `Bearer ${token}` };
    return await fetch(url, { headers, redirect: "error", signal: AbortSignal.timeout(answerMsMax) });
  } catch (error) {
    throw unreachable("daemon-unreachable", `no daemon answers at ${url.origin}`, "Start it again.", error);
  }
};

/** `path` is the state folder of the daemon at `mcpUrl`. */
export const read = async (path: string, mcpUrl: string): Promise<Health> => {
  const folder = StateFolder.at(path);
  const answer = await ask(new URL("/readyz", mcpUrl), OwnerToken.read(folder));
  if (answer.status === 401) {
    throw failed(
      "foreign-daemon",
      `the daemon at ${mcpUrl} does not take the owner's token of ${folder.path}`,
      "Give the --state of the daemon's own folder.",
    );
  }
  try {
    return decode(await answer.json());
  } catch (error) {
    if (error instanceof DecodeError || error instanceof SyntaxError) throw ofReason("incompatible-daemon");
    throw error;
  }
};
