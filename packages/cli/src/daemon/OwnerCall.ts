// One request to a daemon's owner paths, under the owner's token of the state folder, its answer decoded once.

import type { Mode } from "@social-harness/endpoint/state/Configuration";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import * as Tokens from "@social-harness/endpoint/state/Tokens";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import { unreachable } from "../Failure.ts";
import { foreign, ofReason } from "./Explain.ts";
import * as Silence from "./Silence.ts";

/** Where the daemon is, and the state folder that it serves. */
export interface Served {
  readonly path: string;
  readonly mcpUrl: string;
  readonly mode: Mode;
}

/** Throws `StateError` where it cannot be used. */
export const ownerToken = ({ path, mode }: Served): string => Tokens.ownerOf(StateFolder.at(path), mode);

/** A webhook has ten seconds of its own to answer a test. */
const answerMsMax = 15_000;

const ask = async (path: string, url: URL, token: string, body: object | undefined): Promise<Response> => {
  const request =
    body === undefined
      ? { headers: { authorization: `Bearer ${token}` } }
      : {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify(body),
        };
  try {
    return await fetch(url, { ...request, redirect: "error", signal: AbortSignal.timeout(answerMsMax) });
  } catch (error) {
    const next = "Start it with `social-harness daemon`.";
    throw Silence.explained(
      path,
      unreachable("daemon-unreachable", `no daemon answers at ${url.origin}`, next, error),
    );
  }
};

/** GET, or POST where there is a body. `decode` throws `DecodeError` for what this version does not understand. */
export const call = async <A>(
  served: Served,
  target:
    "/readyz" | "/evidence" | "/rounds" | "/withdrawals" | "/probes" | "/webhook/attempts" | "/webhook/test",
  decode: (value: unknown) => A,
  body?: object,
): Promise<A> => {
  const answer = await ask(served.path, new URL(target, served.mcpUrl), ownerToken(served), body);
  if (answer.status === 401) throw foreign(served.mcpUrl);
  try {
    return decode(await answer.json());
  } catch (error) {
    if (error instanceof DecodeError || error instanceof SyntaxError) throw ofReason("incompatible-daemon");
    throw error;
  }
};
