// What can be seen of an endpoint without asking anybody: its folder, keys, configuration, tokens, rules, disk and store.

import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import process from "node:process";
import * as TestCallbacks from "@social-harness/endpoint/callbacks/TestCallbacks";
import * as RulesFile from "@social-harness/endpoint/firewall/RulesFile";
import * as Watch from "@social-harness/endpoint/firewall/Watch";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import type { Endpoint } from "@social-harness/endpoint/state/EndpointFile";
import * as Identity from "@social-harness/endpoint/state/Identity";
import * as PrivateFile from "@social-harness/endpoint/state/PrivateFile";
import { codeOf } from "@social-harness/endpoint/state/StateError";
import * as StoreFault from "@social-harness/endpoint/store/StoreFault";
import type { StateFolder } from "@social-harness/endpoint/state/StateFolder";
import * as Tokens from "@social-harness/endpoint/state/Tokens";
import * as Keys from "../daemon/Keys.ts";
import { joinFirst } from "../daemon/Profile.ts";
import { count } from "../Output.ts";
import { broken, type Finding, finding, guarded, ok, skipped, warning } from "./Finding.ts";
import * as Store from "./Store.ts";

/** What the later checks need of the folder, as far as it could be read. */
export interface Local {
  readonly findings: ReadonlyArray<Finding>;
  readonly identity: Identity.Identity | null;
  readonly configuration: Configuration.Configuration | null;
  /** Whether the store has a registered agent; null where it could not be read. */
  readonly registered: boolean | null;
}

const megabyte = 1_048_576;
/** A write-ahead log grows to 16 MB, and a large conversation's catch-up to more. */
const freeBytesLow = 512 * megabyte;

const folderOf = (folder: StateFolder): Finding => {
  if (!existsSync(folder.path)) return broken("folder", `there is no folder ${folder.path}`, joinFirst);
  const { path, identity, configuration, database, lock, firewall } = folder;
  const { ownerToken, runtimeToken, metricsToken } = folder;
  const tokens = [ownerToken, runtimeToken, metricsToken];
  for (const one of [path, identity, configuration, database, lock, firewall, ...tokens]) {
    if (existsSync(one)) PrivateFile.checkPrivate(one);
  }
  return ok("folder", `${path} and its files are their owner's alone`);
};

/** A start makes those that are missing; a daemon that runs lets nobody in by them until it is started again. */
const tokensOf = (folder: StateFolder, mode: Configuration.Mode, isServed: boolean): Finding => {
  if (!isServed && !existsSync(folder.ownerToken))
    return skipped("tokens", "the daemon makes them when it starts first");
  const [trouble] = isServed ? Tokens.troublesOf(folder, mode) : Tokens.troublesAtStart(folder, mode);
  if (trouble !== undefined) throw trouble;
  const which = mode === "credentials" ? "both can be used" : "the owner's token can be used";
  return ok("tokens", `${which}, mode ${mode}`);
};

const testCallbacksOf = (folder: StateFolder, isServed: boolean): Finding => {
  if (!existsSync(folder.testCallbacks)) return ok("test-callbacks", "there is no test-callbacks.json");
  const next = "Remove the file, unless this endpoint is for tests of receivers.";
  return isServed
    ? warning(
        "test-callbacks",
        "test-callbacks.json is there: a daemon that is allowed to takes callbacks to private addresses for good ones",
        next,
      )
    : broken(
        "test-callbacks",
        `no daemon starts beside test-callbacks.json without ${TestCallbacks.flag}`,
        next,
      );
};

const firewallOf = (folder: StateFolder): Finding => {
  const content = Watch.read(folder.firewall);
  switch (content.kind) {
    case "absent":
      return ok("firewall", "there is no firewall.json: every message reaches the inbox");
    case "unreadable":
      return broken("firewall", content.explanation, "While it cannot be read every message is held.");
    case "text":
      try {
        const file = RulesFile.parse(content.text);
        return ok("firewall", `${count(file.rules?.length ?? 0, "rule")} in firewall.json can be used`);
      } catch (error) {
        if (!(error instanceof RulesFile.RulesProblem)) throw error;
        const next =
          "Correct it: while it cannot be used every message is held. docs/firewall.md has one that works.";
        return broken("firewall", `firewall.json cannot be used: ${error.message}`, next);
      }
  }
};

const diskOf = ({ path }: StateFolder): Finding => {
  try {
    accessSync(path, constants.W_OK);
  } catch (error) {
    return broken(
      "disk",
      `${path} cannot be written (${codeOf(error)})`,
      "Mount its disk writable, or give the folder back to its owner.",
    );
  }
  const { bavail, bsize } = statfsSync(path);
  return spaceOf(bavail * bsize);
};

export const spaceOf = (free: number): Finding => {
  const said = `${Math.floor(free / megabyte)} MB are free where the folder is`;
  const next = "Free some space: a full disk loses nothing, but nothing new is taken or said.";
  if (free < StoreFault.roomBytesMin) return broken("disk", said, next);
  return free < freeBytesLow ? warning("disk", said, next) : ok("disk", said);
};

const keysOf = (folder: StateFolder): readonly [Identity.Identity | null, Finding] => {
  const identity = Identity.load(folder);
  if (identity !== null) return [identity, ok("keys", `both are there, signing key ${identity.signingKey}`)];
  const { message, next } = Keys.missing(folder);
  return [null, broken("keys", message, next)];
};

/** `daemon`: the one that runs on the folder. */
export const examine = async (folder: StateFolder, daemon: Endpoint | null): Promise<Local> => {
  const exists = existsSync(folder.path);
  const first = await guarded("folder", () => folderOf(folder));
  if (!exists) return { findings: [first], identity: null, configuration: null, registered: null };
  const [identity, keys] = await finding("keys", () => keysOf(folder));
  const [configuration, settings] = await finding("configuration", () => {
    const loaded = Configuration.load(folder, { environment: process.env });
    return [
      loaded,
      ok("configuration", `mode ${loaded.mode}, Registry ${loaded.registryUrl}, Router ${loaded.routerUrl}`),
    ] as const;
  });
  const isServed = daemon !== null;
  const [registered, store] =
    identity === null
      ? [null, skipped("store", "without keys nobody can say whose it should be")]
      : await Store.examine({ folder, identity, configuration, isServed });
  const mode = daemon?.mode ?? configuration?.mode ?? "trusted-local";
  const findings = [
    first,
    keys,
    settings,
    await guarded("tokens", () => tokensOf(folder, mode, isServed)),
    testCallbacksOf(folder, isServed),
    await guarded("firewall", () => firewallOf(folder)),
    await guarded("disk", () => diskOf(folder)),
    store,
  ];
  return { findings, identity, configuration, registered };
};
