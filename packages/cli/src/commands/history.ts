// `history`: the conversations of this endpoint, or the certified record of one of them.

import type { Command } from "commander";
import * as AgentCard from "@social-harness/protocol/identity/AgentCard";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import { isGenesis } from "@social-harness/protocol/history/Record";
import * as Arguments from "../Arguments.ts";
import { act, define, withState, type Context } from "../Command.ts";
import type { DaemonClient } from "../daemon/DaemonClient.ts";
import { readConversation, searchConversations } from "../daemon/History.ts";
import type { StateOptions } from "../daemon/Profile.ts";
import { withDaemon } from "../daemon/Running.ts";
import { namingUnknown } from "../daemon/UnknownNames.ts";
import { misused } from "../Failure.ts";
import { count } from "../Output.ts";
import { contentLines } from "../text/Items.ts";
import { signedBy } from "../text/Signers.ts";

interface Options extends StateOptions {
  readonly after?: string;
}

/** The names of a chain's members by id, from its GENESIS where the read began there. */
const namesOf = async (client: DaemonClient, address: string, records: ReadonlyArray<HistoryRecord>) => {
  const first = records[0]?.recordCore;
  const genesis =
    first === undefined || isGenesis(first)
      ? first
      : (await client.call("read_conversation", { address })).records[0]?.recordCore;
  const members = genesis !== undefined && isGenesis(genesis) ? genesis.membership.members : [];
  return new Map(members.map(AgentCard.decode).map((card) => [card.agentId, card.agentName]));
};

const list = async ({ output }: Context<Options>, client: DaemonClient): Promise<void> => {
  const addresses = await output.during("Reading the conversations", searchConversations(client));
  output.result({ kind: "page", addresses, hasMore: false }, addresses.join("\n") || "No conversations yet.");
};

const show = async ({ output, options }: Context<Options>, client: DaemonClient, address: string) => {
  const records = await output.during(
    "Reading the record",
    namingUnknown(client, address, () => readConversation(client, address, options.after)),
  );
  if (output.json) {
    output.result({ kind: "page", records, continuation: null });
    return;
  }
  const names = await namesOf(client, address, records);
  for (const { recordCore, recordHash, actionSignatures } of records) {
    const { height, authorAgentId, postIntent } = recordCore.action;
    const author = output.style("bold", names.get(authorAgentId) ?? authorAgentId);
    const signed = signedBy(names, actionSignatures);
    output.say(`${height}  ${author}  ${output.style("dim", `${signed}  ${recordHash}`)}`);
    output.say(contentLines(postIntent.content));
  }
  output.say(
    records.length === 0
      ? "Nothing after that record."
      : `${count(records.length, "record")}, verified by the daemon.`,
  );
};

export const history = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "history",
      summary: "show the certified record of a conversation",
      examples: [
        ["history", "the addresses of all conversations"],
        ["history agent:bob-agent", "everything that was said with bob-agent"],
        ["history agent:bob-agent --after rch_...", "what came after that record"],
      ],
    }),
  )
    .argument("[address]", "agent:<name> or the complete group:<name>,<name>,...")
    .option("--after <record hash>", "only what follows this record");
  act<Options, [string | undefined]>(command, async (context, written) => {
    const address = written === undefined ? null : Arguments.conversation(written);
    const after = context.options.after;
    if (after !== undefined) Arguments.recordHash(after);
    if (after !== undefined && address === null) {
      throw misused("--after needs a conversation", "Give the address that the record belongs to.");
    }
    await withDaemon(context.options, ({ client }) =>
      address === null ? list(context, client) : show(context, client, address),
    );
  });
};
