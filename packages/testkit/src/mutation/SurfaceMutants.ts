// All deliberate bugs of the endpoint's surface that a named test has to notice.

import { callbackMutants } from "./CallbackMutants.ts";
import { firewallMutants } from "./FirewallMutants.ts";
import { frontMutants } from "./FrontMutants.ts";
import { historyMutants } from "./HistoryMutants.ts";
import { recoveryMutants } from "./RecoveryMutants.ts";
import type { SurfaceMutant } from "./SurfaceMutant.ts";
import { webhookMutants } from "./WebhookMutants.ts";

export const surfaceMutants: ReadonlyArray<SurfaceMutant> = [
  ...historyMutants,
  ...frontMutants,
  ...callbackMutants,
  ...webhookMutants,
  ...firewallMutants,
  ...recoveryMutants,
];
