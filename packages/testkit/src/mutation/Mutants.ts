// All deliberate bugs that the simulator has to see.

import { endingMutants } from "./EndingMutants.ts";
import { evidenceMutants } from "./EvidenceMutants.ts";
import { ingressMutants } from "./IngressMutants.ts";
import { memoryMutants } from "./MemoryMutants.ts";
import type { Mutant } from "./Mutant.ts";
import { progressMutants } from "./ProgressMutants.ts";
import { roundMutants } from "./RoundMutants.ts";
import { slotMutants } from "./SlotMutants.ts";

export const mutants: ReadonlyArray<Mutant> = [
  ...slotMutants,
  ...endingMutants,
  ...evidenceMutants,
  ...roundMutants,
  ...progressMutants,
  ...memoryMutants,
  ...ingressMutants,
];
