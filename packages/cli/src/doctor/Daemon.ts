// The running daemon and what lies behind it: whether it is there and of this version, its MCP endpoint, its connection and
// standing, its webhook, and a question that it sends the whole way to itself and to a peer.

import { existsSync } from "node:fs";
import { connect } from "node:net";
import type { Configuration } from "@social-harness/endpoint/state/Configuration";
import type { Endpoint } from "@social-harness/endpoint/state/EndpointFile";
import * as Lock from "@social-harness/endpoint/state/Lock";
import type { StateFolder } from "@social-harness/endpoint/state/StateFolder";
import type { AgentName } from "@social-harness/protocol/identity/AgentName";
import { version } from "@social-harness/endpoint/Version";
import * as Failure from "../Failure.ts";
import type { ExitCode } from "../Failure.ts";
import * as InForce from "../daemon/InForce.ts";
import * as Located from "../daemon/Located.ts";
import type { Served } from "../daemon/OwnerCall.ts";
import { probe } from "../daemon/Probing.ts";
import * as Silence from "../daemon/Silence.ts";
import * as Readiness from "../daemon/Readiness.ts";
import { connectAsOwner } from "../daemon/Running.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { count } from "../Output.ts";
import { standingWords } from "../text/Webhooks.ts";
import { connectionOf } from "./Connection.ts";
import { broken, checks, type Finding, guarded, ofError, ok, skipped, warning } from "./Finding.ts";

export interface DaemonOptions extends StateOptions {
  /** Whom to ask, beside this agent itself. */
  readonly peer?: AgentName;
}

const after = checks.slice(checks.indexOf("version"), checks.indexOf("peer"));

/** What would take the port that a start would want; a look that connects cannot be in a start's way. */
const isTaken = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    const end = (taken: boolean) => (): void => {
      socket.destroy();
      resolve(taken);
    };
    socket.once("connect", end(true));
    socket.once("error", end(false));
    socket.setTimeout(1_000, end(false));
  });

/** Nobody is ready on the folder; a process may hold it all the same. */
const absent = async (
  folder: StateFolder,
  configuration: Configuration | null,
  failure: Failure.Failure,
): Promise<Finding> => {
  const holder = existsSync(folder.lock) ? Lock.look(folder) : null;
  if (holder !== null) {
    const who =
      holder.kind === "process" ? `a daemon with pid ${holder.pid}` : "a daemon that cannot be seen";
    return broken(
      "daemon",
      `${folder.path} is in use by ${who}, and is not ready`,
      "Wait until it has checked its store; logs/ in the folder says what it does.",
    );
  }
  const port = configuration?.port ?? 0;
  if (port !== 0 && (await isTaken(port))) {
    return broken(
      "daemon",
      `${failure.message}, and its port ${port} is used by another program`,
      "Give another --port, or put one into config.json, and start it: `social-harness daemon`.",
    );
  }
  return broken(
    "daemon",
    failure.message,
    `${failure.next} Where it does not start, it says why, and \`social-harness verify --full\` checks every signature of its store.`,
  );
};

/** It holds the folder and does not answer: stopped, hanging, or so busy that it is no use. */
const mute = (pid: number): Finding =>
  broken(
    "daemon",
    `it runs with pid ${pid} and does not answer`,
    `Take its place: \`social-harness daemon --replace\`. Where it does not go: kill -9 ${pid}, which loses nothing, and start it again.`,
  );

const mcpOf = async (served: Served): Promise<Finding> => {
  const client = await connectAsOwner(served);
  try {
    const { kind } = await client.call("status");
    return ok("mcp", `${served.mcpUrl} answers, ${kind}, mode ${served.mode}`);
  } finally {
    await client.close();
  }
};

export const standingOf = (health: Readiness.Health): Finding => {
  const { restored, routerEquivocations, conversationsChanging, pendingPosts, firewall, storeTrouble } =
    health;
  if (storeTrouble !== null)
    return broken("standing", storeTrouble.explanation, "docs/operations.md has the table of what helps.");
  if (firewall?.file === "unusable") {
    return broken(
      "standing",
      "every message is held, because firewall.json cannot be used",
      "Correct the file.",
    );
  }
  if (routerEquivocations > 0) {
    return warning(
      "standing",
      `the Router signed two orders for ${count(routerEquivocations, "place")}`,
      "`social-harness evidence` shows the proofs: tell the network's operator.",
    );
  }
  if (restored !== null && restored.conversations > 0) {
    return warning(
      "standing",
      `${count(restored.conversations, "conversation")} yet to recover: ${restored.explanation}`,
      "`social-harness status` names them.",
    );
  }
  if (conversationsChanging > 0) {
    return warning(
      "standing",
      `${count(conversationsChanging, "conversation")} yet to go on in a new round`,
      "Nothing is to be done but to wait for the other members.",
    );
  }
  return ok("standing", pendingPosts === 0 ? "nothing is pending" : `${count(pendingPosts, "post")} pending`);
};

export const webhookOf = ({ webhook }: Readiness.Health): Finding => {
  if (webhook === null) return ok("webhook", "none is registered");
  const said = standingWords(webhook);
  if (webhook.resting !== null) return warning("webhook", said, "Start the daemon in that mode.");
  switch (webhook.state) {
    case "active":
      return ok("webhook", said);
    case "retrying":
    case "expired":
      return warning("webhook", said, "`social-harness webhook attempts` lists the last calls.");
    case "suspended":
    case "rejected":
      return broken("webhook", said, "`social-harness webhook test` has the receiver answer now.");
  }
};

const canaryOf = async (served: Served): Promise<Finding> => {
  const trip = await probe(served);
  switch (trip.kind) {
    case "returned":
      return ok("canary", `a question to itself came back over the Router in ${trip.milliseconds} ms`);
    case "not-connected":
      return broken("canary", "nothing can leave: the daemon is not connected", "See the connection above.");
    case "silent":
    case "no-conversation":
      return broken(
        "canary",
        "a question to itself left and did not come back in ten seconds",
        "The Router accepts or delivers nothing: look at logs/ in the folder, and tell the network's operator.",
      );
  }
};

const peerOf = async (served: Served, peer: AgentName): Promise<Finding> => {
  const client = await connectAsOwner(served);
  try {
    const found = await client.call("search_agents", { agentName: peer });
    if (found.kind === "not_found") {
      return broken(
        "peer",
        `the Registry knows no ${peer}`,
        "Look for it: `social-harness agents --prefix <beginning>`.",
      );
    }
  } finally {
    await client.close();
  }
  const trip = await probe(served, peer);
  switch (trip.kind) {
    case "returned":
      return ok("peer", `${peer}'s endpoint answered in ${trip.milliseconds} ms`);
    case "no-conversation":
      return warning(
        "peer",
        `the Registry knows ${peer}, and there is no conversation with it in which to ask whether its endpoint is up`,
        `Only a post shows: \`social-harness send agent:${peer} <text>\`.`,
      );
    case "not-connected":
      return broken("peer", "nothing can leave: the daemon is not connected", "See the connection above.");
    case "silent":
      return broken(
        "peer",
        `${peer}'s endpoint did not answer in ten seconds`,
        "It is off, or cannot reach the Router: ask its owner. Posts to it wait and arrive when it is back.",
      );
  }
};

const versionOf = (theirs: string): Finding =>
  theirs === version
    ? ok("version", `the daemon is version ${version}, as is this command`)
    : warning(
        "version",
        `the daemon is version ${theirs} and this command version ${version}`,
        "Stop it, then start it again from this installation: `social-harness daemon`.",
      );

const settingsOf = (
  configuration: Configuration | null,
  served: Served,
  health: Readiness.Health | null,
): Finding => {
  if (configuration === null) return skipped("settings", "there is no configuration to compare with");
  const all = InForce.differing(configuration, served, health);
  // The port is a flag as a rule, and the next link says where it is.
  const fields = all.filter((field) => field !== "port");
  if (fields.length > 0) return warning("settings", InForce.explain(fields, served), InForce.remedy);
  const but = all.length === 0 ? "" : ", and has a port of its own";
  return ok("settings", `the daemon goes by what is configured${but}`);
};

/** How the daemon says that it stands; null where it does not say it. */
const readinessOf = async (
  served: Served,
): Promise<{ readonly health: Readiness.Health | null; readonly connection: Finding }> => {
  try {
    const health = await Readiness.read(served);
    return { health, connection: connectionOf(health) };
  } catch (error) {
    return { health: null, connection: ofError("connection", error) };
  }
};

export const examine = async (
  options: DaemonOptions,
  folder: StateFolder,
  configuration: Configuration | null,
): Promise<ReadonlyArray<Finding>> => {
  const { peer } = options;
  const none = [...after, ...(peer === undefined ? [] : (["peer"] as const))];
  const unasked = none.map((check) => skipped(check, "it takes a running daemon to ask"));
  let found: Endpoint;
  try {
    found = await Located.reach(options);
  } catch (error) {
    const failure = Failure.ofUnknown(error);
    const silent = failure.reason === "daemon-unreachable" ? Silence.holderOf(folder) : null;
    if (silent !== null) return [mute(silent), ...unasked];
    const unreachable: ExitCode = 3;
    const finding = await guarded("daemon", () =>
      failure.exitCode === unreachable
        ? absent(folder, configuration, failure)
        : broken("daemon", failure.message, failure.next),
    );
    return [finding, ...unasked];
  }
  const { pid, version: theirs, mcpUrl, mode } = found;
  const served: Served = { path: folder.path, mcpUrl, mode };
  const mcp = await guarded("mcp", () => mcpOf(served));
  const { health, connection } = await readinessOf(served);
  const silence = "the daemon did not say how it stands";
  const findings = [
    ok("daemon", `it runs with pid ${pid}`),
    versionOf(theirs),
    settingsOf(configuration, served, health),
    mcp,
    connection,
    health === null ? skipped("standing", silence) : standingOf(health),
    health === null ? skipped("webhook", silence) : webhookOf(health),
  ];
  const why = health?.registered === true ? null : "it takes a registered agent to ask";
  findings.push(why === null ? await guarded("canary", () => canaryOf(served)) : skipped("canary", why));
  if (peer !== undefined) {
    findings.push(why === null ? await guarded("peer", () => peerOf(served, peer)) : skipped("peer", why));
  }
  return findings;
};
