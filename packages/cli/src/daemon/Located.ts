// Where the daemon of a state folder is, and that it is that one. The kernel says who holds the folder's lock; whoever is at
// the address that endpoint.json names has to prove that it wrote the file. No token and no other request leaves before
// both. Implements RUN-300 and RUN-301.

import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";
import * as EndpointFile from "@social-harness/endpoint/state/EndpointFile";
import * as StartSecret from "@social-harness/endpoint/state/StartSecret";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { unreachable } from "../Failure.ts";
import * as Holding from "./Holding.ts";
import * as Keys from "./Keys.ts";
import { pathOf, random, type StateOptions } from "./Profile.ts";

const start = "Start it with `social-harness daemon`.";

/**
 * Where the daemon that holds the folder says it can be reached. Asks nobody. Throws a `Failure` with exit code 3 when there
 * is none, or when the file is of an earlier one.
 */
export const find = (options: StateOptions): EndpointFile.Endpoint => {
  const folder = StateFolder.at(pathOf(options));
  const endpoint = EndpointFile.read(folder);
  if (endpoint === null && !existsSync(folder.identity)) {
    const { reason, message, next } = Keys.missing(folder);
    const why =
      reason === "keys-lost"
        ? `no daemon runs, and ${message}`
        : `no daemon runs on ${folder.path}, and it has no keys yet`;
    throw unreachable("daemon-not-running", why, next);
  }
  if (endpoint === null) throw unreachable("daemon-not-running", `no daemon runs on ${folder.path}`, start);
  // Where that says nothing, the proof decides alone.
  const holder = Holding.holderOf(folder, 0);
  if (holder === null) {
    throw unreachable(
      "daemon-not-running",
      `the daemon of ${folder.path} ended without a goodbye (pid ${endpoint.pid} is gone, or another program's)`,
      start,
    );
  }
  if (holder.kind === "process" && !Holding.isOf(holder, endpoint)) {
    throw unreachable(
      "daemon-not-ready",
      `the daemon with pid ${holder.pid} holds ${folder.path} and is not ready yet`,
      "Try again in a moment; logs/ in the folder says what it does.",
    );
  }
  return endpoint;
};

const answerMsMax = 10_000;

const askAt = async (mcpUrl: string, challenge: string): Promise<Response> => {
  try {
    return await fetch(new URL(`/challenge/${challenge}`, mcpUrl), {
      redirect: "manual",
      signal: AbortSignal.timeout(answerMsMax),
    });
  } catch (error) {
    throw unreachable("daemon-unreachable", `no daemon answers at ${mcpUrl}`, start, error);
  }
};

/** The answer, of which no more is read than a proof has; null where it cannot be one. */
const answerOf = async ({ ok, headers, body }: Response, length: number): Promise<string | null> => {
  if (ok && body !== null && headers.get("content-length") === `${length}`) {
    try {
      return await text(body);
    } catch {
      return null;
    }
  }
  await body?.cancel();
  return null;
};

/** Resolves once the program at the address has proven that it wrote the file. */
const demandProof = async (path: string, { mcpUrl, secret }: EndpointFile.Endpoint): Promise<void> => {
  const challenge = StartSecret.create(random);
  const response = await askAt(mcpUrl, challenge);
  const answer = await answerOf(response, challenge.length);
  if (answer === StartSecret.answer(secret, challenge)) return;
  if (response.status === 503) {
    throw unreachable("daemon-busy", `the daemon at ${mcpUrl} is stopping`, "Try again in a second.");
  }
  throw unreachable(
    "other-program",
    `what answers at ${mcpUrl} is not the daemon of ${path}, and was told nothing`,
    "If that daemon runs in a container, give the command there; else stop it and start it again.",
  );
};

/** As `find`, and it is there. */
export const reach = async (options: StateOptions): Promise<EndpointFile.Endpoint> => {
  const endpoint = find(options);
  await demandProof(pathOf(options), endpoint);
  return endpoint;
};
