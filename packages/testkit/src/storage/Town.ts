// Two agents on a network of processes: one whose state folder stands where a test wants it, with the variables that it
// wants, and one on a sound disk that speaks with it. Shows what a daemon says, in its log and to its owner.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Health } from "@social-harness/endpoint/operations/Health";
import { Refused } from "../faults/Client.ts";
import * as Endpoint from "../faults/Endpoint.ts";
import * as Process from "../faults/Process.ts";
import * as Services from "../faults/Services.ts";

export interface Town {
  readonly folder: string;
  readonly network: Services.Network;
  /** Unexpected ends of processes. */
  readonly ends: ReadonlyArray<string>;
  readonly settle: (
    name: string,
    more?: { readonly folder?: string; readonly environment?: Process.Environment },
  ) => Promise<Endpoint.Endpoint>;
}

/** A folder that goes with the test, after everything that was started in it. */
export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "social-harness-storage-"));
  onTestFinished(() => {
    Process.endAll();
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
};

export const create = async (folder = temporaryFolder()): Promise<Town> => {
  const ends: Array<string> = [];
  const onUnexpectedEnd = (how: string): void => void ends.push(how);
  const network = await Services.start({ services: "together", folder, onUnexpectedEnd });
  return {
    folder,
    network,
    ends,
    settle: (name, more = {}) =>
      Endpoint.settle({
        name,
        folder: more.folder ?? folder,
        network: network.description,
        prepare: null,
        onUnexpectedEnd,
        ...(more.environment === undefined ? {} : { environment: more.environment }),
      }),
  };
};

/** What its owner sees at `GET /readyz`: the status, and the standing unless the store cannot even be read. */
export const readiness = async ({
  state,
  resident,
}: Endpoint.Endpoint): Promise<{ readonly status: number; readonly standing: Health }> => {
  const { mcpUrl } = (await resident.ready()) as { readonly mcpUrl: string };
  const token = readFileSync(join(state, "owner-token"), "utf8");
  const answer = await fetch(new URL("/readyz", mcpUrl), { headers: { authorization: `Bearer ${token}` } });
  return { status: answer.status, standing: (await answer.json()) as Health };
};

/** The closed reason that a call is refused with; `taken` where it is not. */
export const reasonOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "taken",
    (error: unknown) => {
      if (error instanceof Refused) return error.reason;
      throw error;
    },
  );

/** The lines of level warn and error of the daemon's log, the older files left out. */
export const complaints = ({ state }: Endpoint.Endpoint): ReadonlyArray<Readonly<Record<string, unknown>>> =>
  readFileSync(join(state, "logs", "endpoint.log"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ level }) => level === "warn" || level === "error");

/** The texts that wait in its inbox, with their tokens. */
export const inbox = async ({
  client,
}: Endpoint.Endpoint): Promise<ReadonlyArray<{ readonly text: string; readonly token: string }>> => {
  const { items } = await client.call("read_inbox", {});
  return items.flatMap(({ deliveryToken, item }) =>
    item.kind === "multicast"
      ? item.message.content.flatMap((part) =>
          part.type === "text" ? [{ text: part.text, token: deliveryToken as string }] : [],
        )
      : [],
  );
};

/** Looks again until it holds; a failed look counts as no. */
export const eventually = async (
  what: string,
  holds: () => Promise<boolean>,
  waitMs = 60_000,
): Promise<void> => {
  const deadline = Date.now() + waitMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`waited ${waitMs} ms in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
};
