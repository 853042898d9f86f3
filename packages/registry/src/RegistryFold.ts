// The Registry's state folded from its log: by the service for its answers, and by an operator's command in another
// process for invites. Both decide against the tail, so neither can overlook what the other wrote.

import { makeFold, type Fold } from "@social-harness/log/Fold";
import type { Log } from "@social-harness/log/Log";
import type { SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as Entry from "./Entry.ts";
import { makeRegistryState, type RegistryView } from "./RegistryState.ts";

export interface RegistryFold {
  readonly fold: Fold;
  readonly view: RegistryView;
}

/** `registryKey` is the network's own: a log with cards of another Registry is refused when it is folded. */
export const makeRegistryFold = (log: Log, registryKey: SigningKey): RegistryFold => {
  const state = makeRegistryState(registryKey);
  const fold = makeFold(log, Entry.stream, ({ bytes }) => state.apply(Entry.decode(bytes)));
  return { fold, view: state };
};
