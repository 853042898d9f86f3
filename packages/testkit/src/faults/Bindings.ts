// What a store has once bound stays bound, through every kill: a token to its item, its guidance and its post, a post to its
// token, and an acknowledgment to its instant. Remembers every reading of a run.

import type { Disk, StoredItem } from "./Disk.ts";
import type { Faults } from "./Fault.ts";

export interface Bindings {
  readonly ask: (disks: ReadonlyArray<Disk>, faults: Faults) => void;
}

export const create = (): Bindings => {
  const known = new Map<string, StoredItem>();
  const tokens = new Map<string, string>();

  const ask = (name: string, item: StoredItem, faults: Faults): void => {
    const { token, recordHash } = item;
    const before = known.get(`${name} ${token}`);
    if (before !== undefined) {
      if (before.digest !== item.digest) faults.add(`${name} has two payloads for ${token}`);
      if (before.guidance !== item.guidance) faults.add(`${name} changed the guidance beside ${token}`);
      if (before.recordHash !== recordHash) faults.add(`${name} gave ${token} to another post`);
      if (before.acknowledgedAt !== null && before.acknowledgedAt !== item.acknowledgedAt)
        faults.add(`${name} changed or forgot when ${token} was acknowledged`);
    }
    known.set(`${name} ${token}`, item);
    const post = `${name} ${recordHash}`;
    if (recordHash !== null && (tokens.get(post) ?? token) !== token)
      faults.add(`${name} has two tokens for the post ${recordHash}`);
    tokens.set(post, token);
  };

  return {
    ask: (disks, faults) => {
      for (const { name, items } of disks) for (const item of items) ask(name, item, faults);
    },
  };
};
