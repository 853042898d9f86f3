// All deliberate bugs of what hosts, owners and operators meet that a named test has to notice.

import { callbackMutants } from "./CallbackMutants.ts";
import { firewallMutants } from "./FirewallMutants.ts";
import { folderMutants } from "./FolderMutants.ts";
import { frontMutants } from "./FrontMutants.ts";
import { historyMutants } from "./HistoryMutants.ts";
import { processMutants } from "./ProcessMutants.ts";
import { recoveryMutants } from "./RecoveryMutants.ts";
import { storageMutants } from "./StorageMutants.ts";
import type { SurfaceMutant } from "./SurfaceMutant.ts";
import { webhookMutants } from "./WebhookMutants.ts";

export const surfaceMutants: ReadonlyArray<SurfaceMutant> = [
  ...historyMutants,
  ...frontMutants,
  ...callbackMutants,
  ...webhookMutants,
  ...firewallMutants,
  ...recoveryMutants,
  ...storageMutants,
  ...folderMutants,
  ...processMutants,
];
