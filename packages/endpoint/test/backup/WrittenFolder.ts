// State folders with real history: the written store of `ann`, with the keys that it belongs to and a configuration of its
// network. Whatever is made from them goes with the test.

import { copyFileSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { Opaque32 } from "@social-harness/protocol/identity/Identifier";
import { seedOf } from "@social-harness/testkit/network/Network";
import { temporaryFolder } from "@social-harness/testkit/network/TestNetwork";
import * as PrivateFile from "../../src/state/PrivateFile.ts";
import * as StateFolder from "../../src/state/StateFolder.ts";
import * as Tokens from "../../src/state/Tokens.ts";
import type { WrittenStore } from "../store/WrittenStore.ts";

export const writtenFolder = ({ copy, trust }: WrittenStore): StateFolder.StateFolder => {
  const folder = StateFolder.open(join(temporaryFolder(), "state"));
  const seed = (name: string): string => Opaque32.fromBytes(seedOf(`ann ${name}`));
  const identity = {
    kind: "identity",
    version: 1,
    signingSeed: seed("signing"),
    sealingSeed: seed("sealing"),
  };
  const configuration = {
    registryUrl: "http://127.0.0.1:1",
    routerUrl: "ws://127.0.0.1:1",
    registryKey: trust.registryKey,
    routerKey: trust.registryKey,
  };
  PrivateFile.createOnce(folder.identity, CanonicalJson.encode(identity));
  PrivateFile.createOnce(folder.configuration, JSON.stringify(configuration));
  PrivateFile.createOnce(folder.firewall, '{"rules":[]}');
  Tokens.ensure(folder, "credentials", (byteCount) => Buffer.alloc(byteCount, 7));
  copyFileSync(copy(), folder.database);
  return folder;
};

/** Every file below a folder with its bytes. */
export const filesIn = (folder: string): ReadonlyMap<string, Buffer> =>
  new Map(
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => statSync(join(folder, name)).isFile())
      .toSorted()
      .map((name) => [name, readFileSync(join(folder, name))]),
  );
