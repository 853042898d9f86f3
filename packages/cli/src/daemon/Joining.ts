// What a new endpoint needs before it can run: a network's pinned keys in its configuration, and the ids of its one
// registration, written before the Registry is asked so that a lost answer is retried exactly. Implements RUN-10.

import { join } from "node:path";
import process from "node:process";
import * as Schema from "effect/Schema";
import * as Configuration from "@social-harness/endpoint/state/Configuration";
import * as PrivateFile from "@social-harness/endpoint/state/PrivateFile";
import type { StateFolder } from "@social-harness/endpoint/state/StateFolder";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import { OperationId, PrincipalId } from "@social-harness/protocol/identity/Identifier";
import * as Invite from "@social-harness/registry/Invite";
import { Failure, failed, misused } from "../Failure.ts";
import * as Stdin from "../Stdin.ts";
import { random } from "./Profile.ts";

const noInvite = (): Failure =>
  misused("that is no invite", "It begins with shn1_ and is one long word: copy all of it from its sender.");

const readInvite = (text: string): Invite.Invite => {
  try {
    return Invite.decode(text.trim());
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw noInvite();
  }
};

/** The invite of an argument, or of stdin for `-`: an argument is seen by whoever lists the machine's processes. */
export const inviteOf = async (argument: string): Promise<Invite.Invite> =>
  readInvite(
    argument === "-" ? await Stdin.text({ next: "Pipe the invite in.", tooLong: noInvite() }) : argument,
  );

/** Whether the folder has a configuration, and so a network. */
export const isPinned = (folder: StateFolder): boolean =>
  PrivateFile.read(folder.configuration, 65_536) !== null;

/**
 * Writes the network into `config.json`, or makes sure that it is the one that stands there. Addresses may move; the keys
 * are what an endpoint trusts for good, and another network needs another profile. The admission credential is kept only
 * for a daemon that will register later by itself. `other` is the flag that names another endpoint.
 */
export const pin = (
  folder: StateFolder,
  invite: Invite.Invite,
  { withAdmission, other }: { readonly withAdmission: boolean; readonly other: string },
): Configuration.Configuration => {
  const { registryUrl, routerUrl, registryKey, routerKey } = invite;
  const network = { registryUrl, routerUrl, registryKey, routerKey };
  const admission = withAdmission && invite.admission !== undefined ? { admission: invite.admission } : {};
  const known = isPinned(folder) ? Configuration.load(folder, {}) : null;
  if (known !== null && (known.registryKey !== registryKey || known.routerKey !== routerKey)) {
    throw failed(
      "other-network",
      `${folder.path} belongs to another network: its pinned keys are not those of this invite`,
      `Join this network with another ${other}; an endpoint never changes its network.`,
    );
  }
  const configuration =
    known === null
      ? Configuration.resolve({ file: JSON.stringify({ ...network, ...admission }) })
      : { ...known, ...network, ...admission };
  Configuration.save(folder, configuration);
  return Configuration.load(folder, { environment: process.env });
};

/**
 * Runs `work` with the network of `invite` pinned. Where it fails, or asked nobody, the addresses that stood here before
 * stand again: an invite carries those of its day, and a folder may know newer ones.
 */
export const whilePinned = async <A extends { readonly asked: boolean }>(
  folder: StateFolder,
  invite: Invite.Invite,
  other: string,
  work: (configuration: Configuration.Configuration) => Promise<A>,
): Promise<A> => {
  const before = isPinned(folder) ? Configuration.load(folder, {}) : null;
  const restore = (): void => {
    if (before !== null) Configuration.save(folder, before);
  };
  const configuration = pin(folder, invite, { withAdmission: false, other });
  try {
    const result = await work(configuration);
    if (!result.asked) restore();
    return result;
  } catch (error) {
    restore();
    throw withFreshInvite(error);
  }
};

/** What a daemon that is out of reach is told as. */
const ofDaemon: ReadonlySet<string> = new Set([
  "daemon-busy",
  "daemon-not-ready",
  "daemon-not-running",
  "daemon-unreachable",
  "other-program",
]);

/** A network that is out of reach may have moved since its invite was made. */
const withFreshInvite = (error: unknown): unknown => {
  if (!(error instanceof Failure) || error.exitCode !== 3 || ofDaemon.has(error.reason)) return error;
  const { exitCode, reason, message } = error;
  const next = `${error.next} An invite carries the address of its day: where the network has moved since, ask its operator for a fresh one.`;
  return new Failure(exitCode, { reason, message, next }, { cause: error });
};

const Registration = Schema.Struct({
  operationId: OperationId.schema,
  principalId: PrincipalId.schema,
  agentName: AgentName.schema,
});
/** What identifies the one registration of this folder's keys. */
export type Registration = typeof Registration.Type;
const decode = Closed.decoder(Registration);

const fileOf = (folder: StateFolder): string => join(folder.path, "registration.json");

/** What was asked for from this folder, whatever came of it; null where nothing was. */
export const readRegistration = (folder: StateFolder): Registration | null => {
  const text = PrivateFile.read(fileOf(folder), 1_024);
  if (text === null) return null;
  try {
    return decode(JSON.parse(text));
  } catch (error) {
    if (!(error instanceof DecodeError) && !(error instanceof SyntaxError)) throw error;
    throw failed("state-malformed", `${fileOf(folder)} is damaged`, "Restore it from a backup.", error);
  }
};

/**
 * The registration to ask for under this name: the one that was asked for before, else a new one, on disk when this
 * returns. A changed name or principal is a new request with a new operation id, because the old one may have been taken.
 */
export const registrationFor = (
  folder: StateFolder,
  agentName: AgentName.AgentName,
  principalId: PrincipalId | undefined,
): Registration => {
  const known = readRegistration(folder);
  if (known?.agentName === agentName && (principalId ?? known.principalId) === known.principalId)
    return known;
  const registration: Registration = {
    operationId: OperationId.fromBytes(random(16)),
    principalId: principalId ?? known?.principalId ?? PrincipalId.fromBytes(random(16)),
    agentName,
  };
  PrivateFile.replace(fileOf(folder), `${JSON.stringify(registration)}\n`);
  return registration;
};
