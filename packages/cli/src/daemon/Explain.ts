// Every reason that a tool of the daemon can fail with, in words: what happened and what to do. One exhaustive table, so
// that a new reason does not compile without its sentences. Implements RUN-02.

import type { EndedPost } from "@social-harness/endpoint/operations/EndedPost";
import type { Reason } from "@social-harness/endpoint/operations/OperationError";
import * as Trouble from "@social-harness/endpoint/transport/Trouble";
import { failed, Failure, type ExitCode } from "../Failure.ts";
import * as ProxyEnvironment from "../ProxyEnvironment.ts";

interface Words {
  readonly exitCode: ExitCode;
  readonly message: string;
  readonly next: string;
}

const failure = (message: string, next: string): Words => ({ exitCode: 1, message, next });

const words: Readonly<Record<Reason, Words>> = {
  "dependency-unavailable": {
    exitCode: 3,
    message: "the Registry did not answer",
    next: Trouble.remedy("Registry", "unreachable"),
  },
  "persistence-failed": failure(
    "the endpoint's store could not do it",
    "Nothing was deleted. Why stands in logs/ in the state folder, and in `social-harness status` for as long as it lasts.",
  ),
  "incompatible-daemon": failure(
    "the daemon speaks another version of the protocol than this command",
    "Run the command and the daemon from the same installation.",
  ),
  "not-registered": failure(
    "this endpoint has no registered agent yet",
    "Join a network: `social-harness join <invite> --name <agent>`.",
  ),
  "invalid-address": failure(
    "that is not an address",
    "Write agent:<name>, or group:<name>,<name>,... with the complete membership.",
  ),
  "unknown-agent": failure(
    "the Registry knows no agent of that name",
    "Look for it: `social-harness agents --prefix <beginning>`.",
  ),
  "membership-invalid": failure(
    "that is no possible membership: a name is repeated, it is only yourself, or there are too few or too many",
    "A conversation has 2 to 32 different agents, a group at least 3; your own name may be left out.",
  ),
  "content-invalid": failure(
    "the text cannot be posted: it is too long or holds half of a surrogate pair",
    "A post holds at most 262,144 bytes of content, which is 262,117 ASCII characters of text.",
  ),
  "version-mismatch": failure(
    "the network speaks another version of the protocol",
    "Update social-harness on the older side.",
  ),
  "idempotency-conflict": failure(
    "another post was sent under that key before",
    "Use a new --key for a new post.",
  ),
  "outcome-unknown": failure(
    "the post was not certified within seven days by this machine's clock, or this endpoint lost its memory of it, and nobody can prove that it never will be",
    "Look whether it arrived: `social-harness history <address>`.",
  ),
  refused: failure(
    "a member refused the conversation",
    "Its owner decides who may open one: ask them in another way.",
  ),
  withdrawn: failure(
    "the post was withdrawn before it was certified",
    "Send it again if it is still wanted.",
  ),
  "invalid-continuation": failure(
    "that continuation or cursor was used, has expired or is not this daemon's",
    "Start again from the first page.",
  ),
  "history-gap": failure(
    "there is no certified conversation under that address here, or not that record in it",
    "List what there is: `social-harness history`.",
  ),
  "unknown-delivery": failure(
    "no item was ever handed out under that token",
    "Copy the token from `social-harness inbox`.",
  ),
  "delivery-conflict": failure(
    "another consumer is taking the same item at this moment",
    "Look again: `social-harness inbox`.",
  ),
  "unknown-hold": failure(
    "no message was ever held under that id",
    "Copy the id from `social-harness hold list`.",
  ),
  "unknown-event": failure("there is no event of that id", "Copy the id from `social-harness inbox --json`."),
};

const isReason = (reason: string): reason is Reason => Object.hasOwn(words, reason);

/**
 * The failure of a tool that gave `reason`. What it said beside the reason tells more than the table only where the table
 * cannot know, as with a content's defect.
 */
export const ofReason = (reason: string, detail?: string): Failure => {
  const known = isReason(reason) ? words[reason] : null;
  const { exitCode, message, next } =
    known ??
    failure("the daemon failed in a way it does not explain", "Its cause is in logs/ in the state folder.");
  const tellsMore = detail !== undefined && (known === null || reason === "content-invalid");
  // No answer in time is what a firewall looks like that drops whatever does not go through the proxy.
  const more = reason === "dependency-unavailable" ? ProxyEnvironment.hint("unreachable") : "";
  return new Failure(exitCode, {
    reason,
    message: tellsMore ? `${message} (${detail})` : message,
    next: `${next}${more}`,
  });
};

/** The failure of a send whose post ended without its effect. */
export const ofEnded = ({ postId, reason, refusedBy }: EndedPost): Failure => {
  const ended = ofReason(reason);
  if (refusedBy === null) return ended.with({ details: { postId } });
  return ended.with({ message: `${refusedBy} refused the conversation`, details: { postId, refusedBy } });
};

/** The failure of a tool that the Registry's absence ended, where the daemon knows what is the matter. */
export const ofTrouble = (trouble: Trouble.Trouble): Failure =>
  new Failure(words["dependency-unavailable"].exitCode, {
    reason: trouble.kind === "wrong-key" ? "wrong-registry-key" : "dependency-unavailable",
    message: Trouble.explain("Registry", trouble),
    next: `${Trouble.remedy("Registry", trouble.kind)}${ProxyEnvironment.hint(trouble.kind)}`,
  });

/** The failure of a tool that the daemon does not have at this moment: before registration nearly every one. */
export const ofAbsentTool = (name: string): Failure =>
  name === "release_hold"
    ? failed(
        "release-not-allowed",
        "no firewall.json that can be used allows a release, or there is no registered agent yet",
        'Write "allowRelease": true into it, or `social-harness hold discard <hold id>`.',
      )
    : ofReason("not-registered");

/** The failure of a call that the daemon answers with 401. */
export const foreign = (mcpUrl: string, cause?: unknown): Failure =>
  failed(
    "foreign-daemon",
    `the daemon at ${mcpUrl} does not take the owner's token of this state folder`,
    "Give the --state of the daemon's own folder; if it is that, look at logs/ in it.",
    cause,
  );
