// `network invite create`, `list` and `revoke`: who may join. A credential is shown once, when it is made.
// Implements RUN-08 and RUN-09.

import type { Command } from "commander";
import { InviteId } from "@social-harness/registry/Admission";
import * as Invite from "@social-harness/registry/Invite";
import * as Limits from "@social-harness/registry/Limits";
import * as Schema from "effect/Schema";
import { act, define, wholeNumber } from "../Command.ts";
import { failed, misused } from "../Failure.ts";
import { withData, type DataOptions } from "../network/DataOption.ts";
import { withInvites } from "../network/InviteBook.ts";
import { inviteLine } from "../text/Network.ts";

interface CreateOptions extends DataOptions {
  readonly uses: number;
}

const isInviteId = Schema.is(InviteId);

export const networkInviteCreate = (parent: Command): void => {
  const command = withData(
    define(parent, {
      name: "create",
      summary: "make an invite and print it, once",
      examples: [
        ["network invite create --data ./net", "admits one agent"],
        ["network invite create --data ./net --uses 30", "admits a whole class"],
        ["network invite create --data ./net --json", '{"invite"}; its id is the last one that `list` shows'],
      ],
    }),
  ).option("--uses <n>", "how many agents it admits", wholeNumber(1, Limits.inviteUsesMax), 1);
  act<CreateOptions, []>(command, ({ output, options }) =>
    withInvites(options.data, async (invites, network) => {
      // Asked first: a credential that cannot be handed out should not exist.
      const description = network();
      const { inviteId, credential } = await invites.create(options.uses);
      const invite = Invite.encode({ ...description, admission: credential });
      output.result({ invite }, invite);
      output.remark(
        `revoke it with: social-harness network invite revoke ${inviteId} --data ${options.data}`,
      );
    }),
  );
};

export const networkInviteList = (parent: Command): void => {
  const command = withData(
    define(parent, {
      name: "list",
      summary: "list invites, without their credentials",
      examples: [
        [
          "network invite list --data ./net",
          "in order of creation, the newest last; with --json, each with its createdAt",
        ],
      ],
    }),
  );
  act<DataOptions, []>(command, ({ output, options }) =>
    withInvites(options.data, async (invites) => {
      const list = await invites.list();
      output.result(
        { invites: list },
        list.map((invite) => inviteLine(output, invite)).join("\n") || "No invites.",
      );
    }),
  );
};

export const networkInviteRevoke = (parent: Command): void => {
  const command = withData(
    define(parent, {
      name: "revoke",
      summary: "let an invite admit nobody from now on",
      examples: [["network invite revoke inv_... --data ./net", "agents that it admitted stay"]],
    }),
  ).argument("<invite id>", "as `network invite list` shows it");
  act<DataOptions, [string]>(command, async ({ output, options }, inviteId) => {
    if (!isInviteId(inviteId)) {
      throw misused("that is no invite id", "Copy the inv_... from `social-harness network invite list`.");
    }
    await withInvites(options.data, async (invites) => {
      const { kind } = await invites.revoke(inviteId);
      if (kind === "not_found") {
        throw failed(
          "not-found",
          "there is no such invite",
          "List them: `social-harness network invite list`.",
        );
      }
      output.result({ kind }, kind === "revoked" ? "revoked" : "it was revoked before");
    });
  });
};
