// A deliberate bug of what hosts, owners and operators meet, and the test that has to notice it.

import type { Bug } from "./Mutant.ts";

export interface SurfaceMutant extends Bug {
  readonly test: {
    /** Path from the root of the repository. */
    readonly file: string;
    /** Part of the title; every test of the file that has it runs, and one of them must fail. */
    readonly title: string;
  };
}

const callbacks = "packages/endpoint/test/callbacks";
const webhooks = "packages/endpoint/test/webhooks";
const operations = "packages/endpoint/test/operations";
const mcp = "packages/endpoint/test/mcp";
const firewall = "packages/endpoint/test/firewall";
const ingress = "packages/endpoint/test/ingress";
const endpoint = "packages/testkit/test/endpoint";
const store = "packages/endpoint/test/store";
const state = "packages/endpoint/test/state";
const backup = "packages/endpoint/test/backup";
const daemon = "packages/cli/test/daemon";
const commands = "packages/cli/test/commands";
const services = "packages/log/test";

/** Test files by what they are about. */
export const files = {
  activation: "packages/endpoint/test/Activation.test.ts",
  callbackAnswers: `${callbacks}/CallbackClient.test.ts`,
  callbackCorpus: `${callbacks}/Corpus.test.ts`,
  callbackCertificates: `${callbacks}/Certificate.test.ts`,
  callbackDeadline: `${callbacks}/Deadline.test.ts`,
  callbackDestinations: `${callbacks}/Destination.test.ts`,
  callbackInterimAnswers: `${callbacks}/InterimAnswers.test.ts`,
  callbackEnvironment: `${callbacks}/Environment.test.ts`,
  retryAfter: `${callbacks}/RetryAfter.test.ts`,
  standardWebhook: `${callbacks}/StandardWebhook.test.ts`,
  testCallbacks: `${callbacks}/TestCallbacks.test.ts`,
  webhooks: `${webhooks}/Webhooks.test.ts`,
  webhookFailing: `${webhooks}/Failing.test.ts`,
  webhookDelivery: `${webhooks}/Delivery.test.ts`,
  webhookModel: `${webhooks}/WebhookModel.test.ts`,
  webhookFailingStore: `${webhooks}/FailingStore.test.ts`,
  webhookLeaseEnd: `${webhooks}/LeaseEnd.test.ts`,
  webhookSuccession: `${webhooks}/Succession.test.ts`,
  webhookVerification: `${webhooks}/Verification.test.ts`,
  webhookNotices: `${webhooks}/Notices.test.ts`,
  subscriptions: `${mcp}/Subscriptions.test.ts`,
  pendingStream: `${mcp}/PendingStream.test.ts`,
  callbackFailures: `${mcp}/CallbackFailures.test.ts`,
  agentLife: `${operations}/AgentLife.test.ts`,
  continuations: `${operations}/Continuations.test.ts`,
  conversationPages: `${operations}/ConversationPages.test.ts`,
  historyPages: `${operations}/HistoryPages.test.ts`,
  historyEvidence: `${operations}/HistoryEvidence.test.ts`,
  history: `${operations}/History.test.ts`,
  endpoint: "packages/endpoint/test/Endpoint.test.ts",
  fullCheck: `${store}/FullCheck.test.ts`,
  changedFile: `${store}/ChangedFile.test.ts`,
  changedRow: `${store}/ChangedRow.test.ts`,
  database: `${store}/Database.test.ts`,
  schema: `${store}/Schema.test.ts`,
  storeFile: `${store}/StoreFile.test.ts`,
  storeStanding: `${store}/StoreStanding.test.ts`,
  turns: `${store}/Turns.test.ts`,
  writeAheadLog: `${store}/WriteAheadLog.test.ts`,
  leftovers: `${state}/Leftovers.test.ts`,
  lock: `${state}/Lock.test.ts`,
  log: `${state}/Log.test.ts`,
  logFiles: `${state}/LogFiles.test.ts`,
  stateFolder: `${state}/StateFolder.test.ts`,
  tokens: `${state}/Tokens.test.ts`,
  craftedBackup: `${backup}/CraftedBackup.test.ts`,
  restore: `${backup}/Restore.test.ts`,
  stagedFolder: `${backup}/StagedFolder.test.ts`,
  located: `${daemon}/Located.test.ts`,
  replacing: `${daemon}/Replacing.test.ts`,
  lostStore: `${commands}/lost-store.test.ts`,
  replace: `${commands}/replace.test.ts`,
  logTrouble: `${services}/LogTrouble.test.ts`,
  openFiles: `${services}/OpenFiles.test.ts`,
  sqliteFile: `${services}/SqliteFile.test.ts`,
  sqliteLog: `${services}/SqliteLog.test.ts`,
  readiness: `${mcp}/Readiness.test.ts`,
  catalog: `${mcp}/Catalog.test.ts`,
  failures: `${mcp}/Failures.test.ts`,
  malformedCalls: `${mcp}/MalformedCalls.test.ts`,
  diagnostics: `${mcp}/Diagnostics.test.ts`,
  lookAlikes: `${mcp}/LookAlikes.test.ts`,
  outputSchemas: `${mcp}/OutputSchemas.test.ts`,
  words: `${mcp}/Words.test.ts`,
  firewall: `${firewall}/Firewall.test.ts`,
  missedFile: `${firewall}/MissedFile.test.ts`,
  rules: `${firewall}/Rules.test.ts`,
  rate: `${firewall}/Rate.test.ts`,
  watch: `${firewall}/Watch.test.ts`,
  places: `${firewall}/Places.test.ts`,
  wallModel: `${firewall}/WallModel.test.ts`,
  checker: `${firewall}/Checker.test.ts`,
  holdTools: `${mcp}/HoldTools.test.ts`,
  recovery: `${ingress}/Recovery.test.ts`,
  recoveryCrash: `${ingress}/RecoveryCrash.test.ts`,
  recoveryModel: `${ingress}/RecoveryModel.test.ts`,
  lostRequest: `${endpoint}/LostRequest.test.ts`,
  registration: `${endpoint}/Registration.test.ts`,
} as const;
