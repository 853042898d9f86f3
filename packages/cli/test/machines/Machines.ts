// Two machines in one: a network namespace each, with a wire between them that delays and loses packets. Linux alone has
// them, and gives them to root; elsewhere the tests that need them skip and say so.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { TestContext } from "vitest";

export const hostAddress = "10.77.0.1";
export const guestAddress = "10.77.0.2";

export interface Wire {
  readonly delayMs: number;
  /** The share of packets that get lost, each way. */
  readonly loss: number;
}

export interface Machines {
  /** The namespaces: at `hostAddress`, and at `guestAddress` to begin with. */
  readonly host: string;
  readonly guest: string;
  /** Pulls the guest's cable, and plugs it in again. */
  readonly unplug: () => void;
  readonly plug: () => void;
  /** Gives the guest another address in place of its first one, as another wireless network would. */
  readonly moveGuest: (address: string) => void;
  readonly close: () => Promise<void>;
}

const wireProgram = fileURLToPath(new URL("./wire.py", import.meta.url));
const ip = (...words: ReadonlyArray<string>): string =>
  execFileSync("ip", words, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

let made = 0;

/** Why there can be no machines here, or null. */
const obstacle = (): string | null => {
  if (process.platform !== "linux") return "only Linux has network namespaces";
  const name = `shx${process.pid}p`;
  try {
    execFileSync("python3", ["--version"], { stdio: "ignore" });
    accessSync("/dev/net/tun", constants.R_OK | constants.W_OK);
    ip("netns", "add", name);
  } catch {
    return "two machines take ip (iproute2), python3, /dev/net/tun and the right to make network namespaces (root)";
  }
  ip("netns", "del", name);
  return null;
};

const startWire = async (names: ReadonlyArray<string>, { delayMs, loss }: Wire): Promise<ChildProcess> => {
  const wire = spawn("python3", [wireProgram, ...names, `${delayMs}`, `${loss}`, "7"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ready = await Promise.race([
    once(wire.stdout, "data").then(() => true),
    once(wire, "exit").then(() => false),
  ]);
  if (!ready) throw new Error("the wire between the machines could not be made");
  return wire;
};

export const make = async (context: TestContext, wireOf: Wire): Promise<Machines> => {
  const missing = obstacle();
  if (missing !== null) context.skip(missing);
  made += 1;
  const [host, guest] = ["a", "b"].map((end) => `shx${process.pid}${end}${made}`) as [string, string];
  const namespaces: Array<string> = [];
  let wire: ChildProcess | null = null;
  const close = async (): Promise<void> => {
    if (wire !== null && wire.exitCode === null && wire.signalCode === null) {
      const ended = once(wire, "exit");
      wire.kill("SIGKILL");
      await ended;
    }
    for (const name of namespaces.splice(0)) ip("netns", "del", name);
  };
  try {
    // The devices have the names of their namespaces; they are made outside and moved in.
    wire = await startWire([host, guest], wireOf);
    for (const [name, address] of [
      [host, hostAddress],
      [guest, guestAddress],
    ] as const) {
      ip("netns", "add", name);
      namespaces.push(name);
      ip("-n", name, "link", "set", "lo", "up");
      ip("link", "set", name, "netns", name);
      ip("-n", name, "addr", "add", `${address}/24`, "dev", name);
      ip("-n", name, "link", "set", name, "up");
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    host,
    guest,
    unplug: () => void ip("-n", guest, "link", "set", guest, "down"),
    plug: () => void ip("-n", guest, "link", "set", guest, "up"),
    moveGuest: (address) => {
      ip("-n", guest, "addr", "del", `${guestAddress}/24`, "dev", guest);
      ip("-n", guest, "addr", "add", `${address}/24`, "dev", guest);
    },
    close,
  };
};
