// The hooked agents of a run: their receiver, the hosts that keep it subscribed, and what its record has in the end.

import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import type { Books } from "./Books.ts";
import type { Disk } from "./Disk.ts";
import type { Endpoint } from "./Endpoint.ts";
import type { Faults } from "./Fault.ts";
import * as Hook from "./Hook.ts";
import * as IngressLaws from "./IngressLaws.ts";
import * as Plan from "./Plan.ts";
import * as Received from "./Received.ts";
import * as Receiver from "./Receiver.ts";
import * as Wall from "./Wall.ts";

export interface Ingress {
  readonly isHooked: (agent: string) => boolean;
  /** Hosts an agent until it is owed nothing more. */
  readonly host: (endpoint: Endpoint, goesOn: (arrived: number) => boolean) => Promise<void>;
  readonly nextDelivery: (agent: string) => Promise<void>;
  /** Deliveries so far, whatever they were answered. */
  readonly attempts: () => number;
  readonly judge: (disks: ReadonlyArray<Disk>, books: Books) => IngressLaws.Counts;
  readonly close: () => void;
}

export interface IngressOptions {
  readonly plan: Plan.Plan;
  readonly folder: string;
  readonly faults: Faults;
}

/** Before the first start of a hooked agent's daemon; the arguments that it then takes besides. */
export const prepare = (name: string, state: StateFolder.StateFolder): ReadonlyArray<string> => {
  writeFileSync(state.testCallbacks, JSON.stringify(Receiver.testCallbacks), { mode: 0o600 });
  if (name === Plan.walled) Wall.raise(state.path, state.firewall);
  return ["--mode", "credentials", "--allow-test-callbacks"];
};

const unwalled: Wall.Fate = { kind: "allowed", guidance: null };

/** The receiver runs from now on. */
export const open = async ({ plan, folder, faults }: IngressOptions): Promise<Ingress> => {
  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  const fileOf = (agent: string): string => join(folder, `${agent}.received`);
  const random = Plan.randomOf(plan.seed, "receiver");
  const receiver = await Receiver.start({ secret, fileOf, random, faults });
  return {
    isHooked: (agent) => Plan.hooked.includes(agent),
    host: (endpoint, goesOn) =>
      Hook.host({
        endpoint,
        url: receiver.urlOf(endpoint.name),
        secret,
        random: Plan.randomOf(plan.seed, `host ${endpoint.name}`),
        faults,
        goesOn,
      }),
    nextDelivery: receiver.nextDelivery,
    attempts: () => Plan.hooked.reduce((sum, agent) => sum + Received.read(fileOf(agent)).length, 0),
    judge: (disks, books) => {
      const texts = new Map(
        books
          .conversations()
          .flatMap((conversation) =>
            books.postsOf(conversation).map(({ postId, text }) => [postId as string, text]),
          ),
      );
      const hooked = disks.filter(({ name }) => Plan.hooked.includes(name));
      return IngressLaws.sum(
        hooked.map((disk) =>
          IngressLaws.askSettled(
            {
              disk,
              attempts: Received.read(fileOf(disk.name)),
              fateOf: (postId) =>
                disk.name === Plan.walled ? Wall.fateOf(texts.get(postId) ?? "") : unwalled,
            },
            faults,
          ),
        ),
      );
    },
    close: receiver.close,
  };
};
