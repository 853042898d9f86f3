// The store as it can be seen from outside: beside its daemon whether its newest rows are what was stored, without one all that
// a start checks, so that a store on which none starts is the broken link and not the daemon that is not there. Says also
// where a store is gone whose folder was registered. Implements RUN-270 and RUN-271.

import { statSync } from "node:fs";
import type { Configuration } from "@social-harness/endpoint/state/Configuration";
import type { Identity } from "@social-harness/endpoint/state/Identity";
import type { StateFolder } from "@social-harness/endpoint/state/StateFolder";
import * as Sample from "@social-harness/endpoint/store/Sample";
import { StoreError } from "@social-harness/endpoint/store/StoreError";
import * as StoreFile from "@social-harness/endpoint/store/StoreFile";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { readRegistration } from "../daemon/Joining.ts";
import { ways } from "../daemon/LostStore.ts";
import { joinFirst } from "../daemon/Profile.ts";
import { count } from "../Output.ts";
import { broken, type Finding, finding, ok, warning } from "./Finding.ts";

/** Whether the store has a registered agent; null where that cannot be told. */
type Seen = readonly [registered: boolean | null, finding: Finding];

/** The store has no agent; whether it had one is told by what stands beside it. */
const withoutAgent = (folder: StateFolder, what: string): Finding => {
  const planned = readRegistration(folder);
  if (planned === null) return warning("store", what, joinFirst);
  const said = `${what}, and registration.json names ${planned.agentName}: either the store was lost, or its registration never ended`;
  return broken("store", said, ways(planned.agentName));
};

/** The daemon has it open still, so that nothing is lost yet. */
const takenAway = ({ database }: StateFolder): Finding =>
  broken(
    "store",
    `${database} was deleted, moved or emptied under the daemon that runs`,
    "Put that very file back, and everything goes on by itself. Where it is lost, stop the daemon and restore a backup.",
  );

const whole = async (
  folder: StateFolder,
  identity: Identity,
  { registryKey }: Configuration,
): Promise<Seen> => {
  try {
    const trust = { verifier: Ed25519.verifier, registryKey };
    const { card, records } = await Sample.asAtStart(folder.database, identity, trust);
    const checked = `${count(records, "record")} checked as at a start`;
    return card === null
      ? [false, withoutAgent(folder, `${checked}, and no agent is registered`)]
      : [true, ok("store", `it is ${card.agentName}'s, ${checked}`)];
  } catch (error) {
    if (!(error instanceof StoreError) || error.reason !== "older-schema") throw error;
    const next = "A daemon of this one brings it up when it starts.";
    return [null, warning("store", "a program of an earlier version wrote it", next)];
  }
};

const newest = (folder: StateFolder, identity: Identity): Seen => {
  const { card, records, conversations } = Sample.take(folder.database, identity);
  const said = `the newest ${count(records, "record")} and ${count(conversations, "conversation")} are as they were stored`;
  return card === null
    ? [false, withoutAgent(folder, `${said}, and no agent is registered`)]
    : [true, ok("store", `it is ${card.agentName}'s, and ${said}`)];
};

export interface StoreOptions {
  readonly folder: StateFolder;
  readonly identity: Identity;
  readonly configuration: Configuration | null;
  /** Whether a daemon runs on it, which has checked all of it. */
  readonly isServed: boolean;
}

export const examine = (options: StoreOptions): Promise<readonly [boolean | null, Finding]> => {
  const { folder, identity, configuration, isServed } = options;
  return finding("store", () => {
    if (isServed && StoreFile.isEmpty(folder.database)) return [null, takenAway(folder)];
    StoreFile.demandWhole(folder.database);
    const size = statSync(folder.database, { throwIfNoEntry: false })?.size;
    if (size === undefined) return [false, withoutAgent(folder, `there is no ${folder.database}`)];
    if (size === 0) return [false, withoutAgent(folder, `${folder.database} is empty`)];
    return isServed || configuration === null
      ? newest(folder, identity)
      : whole(folder, identity, configuration);
  });
};
