// `verify`: checks an export with nothing but the file and the pinned Registry key, and says who said what in what order,
// who signed, and what no file can prove. With --full it checks the endpoint's own store instead, daemon or no daemon.
// Implements RUN-41, RUN-42 and HIS-117.

import { existsSync } from "node:fs";
import type { Command } from "commander";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { SigningKey } from "@social-harness/protocol/identity/Identifier";
import { act, define, withState, type Context } from "../Command.ts";
import { pathOf, pinnedRegistryKey, type StateOptions } from "../daemon/Profile.ts";
import { verifyStore } from "../daemon/Auditing.ts";
import { verifyFile } from "../daemon/Verifying.ts";
import { misused } from "../Failure.ts";
import { count } from "../Output.ts";
import { postJson, postLines } from "../text/Posts.ts";

interface Options extends StateOptions {
  readonly full?: boolean;
  readonly registryKey?: string;
}

const never = [
  "when anything was said: records carry an order and no time",
  "who the people behind the names are: that is the Registry's word, and yours for pinning its key",
];

/** What stays open however good the signatures are. */
const notChecked = (members: number): ReadonlyArray<string> => [
  "whether the conversation went on after the last record: the exporter chose where to stop",
  ...never,
  ...(members < 4
    ? ["whether the others still hold it: below four members storage rests on all being honest"]
    : []),
];

const notCheckedOfStore = [
  "whether the conversations went on after the last records: a store is as old as its last write",
  ...never,
];

const keyOf = (options: Options): SigningKey => {
  const { registryKey } = options;
  if (registryKey === undefined) {
    const pinned = pinnedRegistryKey(options);
    if (pinned !== null) return pinned;
    const path = pathOf(options);
    if (!existsSync(path)) {
      throw misused(
        `there is no folder ${path}, whose pinned Registry key would be trusted`,
        "Give the --state of an endpoint, or --registry-key from a source you trust.",
      );
    }
    throw misused(
      "there is no pinned Registry key to verify against",
      "Give --registry-key, from a source you trust; never take it from the file itself.",
    );
  }
  if (SigningKey.is(registryKey) && Ed25519.isStrictKey(registryKey)) return registryKey;
  throw misused(
    "that is no Registry key",
    "It is the 43 characters that `network show` prints behind the Registry's address.",
  );
};

const verifyExport = async ({ output, options }: Context<Options>, path: string): Promise<void> => {
  const { header, exporter, members, posts } = await output.during(
    "Verifying every signature",
    verifyFile(path, keyOf(options)),
  );
  const unchecked = notChecked(members.length);
  const names = members.map(({ agentId, agentName, principalId }) => ({ agentName, agentId, principalId }));
  const lines = [
    ...posts.map((post) => postLines(output, post)),
    "",
    output.style(
      "green",
      `verified: ${count(header.records, "record")} of ${members.map((card) => card.agentName).join(", ")}`,
    ),
    `exported by ${exporter.agentName} as ${header.address}`,
    `head ${header.headRecordHash}`,
    "not checked, because no file can show it:",
    ...unchecked.map((line) => `  - ${line}`),
  ];
  output.result(
    {
      ok: true,
      address: header.address,
      exportedBy: exporter.agentName,
      registryKey: header.registryKey,
      records: header.records,
      headRecordHash: header.headRecordHash,
      members: names,
      posts: posts.map(postJson),
      notChecked: unchecked,
    },
    lines.join("\n"),
  );
};

const verifyAll = async ({ output, options }: Context<Options>): Promise<void> => {
  const registryKey = keyOf(options);
  const conversations = await output.during(
    "Verifying every signature of the store",
    verifyStore(options, registryKey),
  );
  const records = conversations.reduce((sum, conversation) => sum + conversation.records, 0);
  const lines = [
    ...conversations.map(
      (one) => `${one.address}: ${count(one.records, "record")}, head ${one.headRecordHash}`,
    ),
    output.style(
      "green",
      `verified: ${count(records, "record")} in ${count(conversations.length, "conversation")}, every signature`,
    ),
    "not checked, because no store can show it:",
    ...notCheckedOfStore.map((line) => `  - ${line}`),
  ];
  output.result(
    { ok: true, registryKey, records, conversations, notChecked: notCheckedOfStore },
    lines.join("\n"),
  );
};

export const verify = (parent: Command): void => {
  const command = withState(
    define(parent, {
      name: "verify",
      summary: "check an exported conversation offline, or everything that this endpoint stores",
      examples: [
        ["verify talk.jsonl", "against the Registry key that this profile has pinned"],
        ["verify talk.jsonl --registry-key Q2x...", "against a key that you got elsewhere"],
        ["verify --full", "every record of this profile's own store, also while its daemon runs"],
      ],
    }),
  )
    .argument("[file]", "what `export` wrote")
    .option("--full", "check the whole store instead of a file, and change nothing in it")
    .option("--registry-key <key>", "the Registry key to trust, 43 characters");
  act<Options, [string | undefined]>(command, (context, path) => {
    if (context.options.full === true && path === undefined) return verifyAll(context);
    if (context.options.full !== true && path !== undefined) return verifyExport(context, path);
    throw misused("verify checks one file, or the store with --full", "Give the file, or --full, not both.");
  });
};
