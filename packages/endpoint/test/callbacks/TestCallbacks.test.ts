// The file that lets callbacks reach this machine, and the daemon that does not start because of it.

import { randomBytes } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { temporaryFolder } from "@social-harness/testkit/network/TestNetwork";
import { verifies } from "@social-harness/testkit/Verifies";
import * as TestCallbacks from "../../src/callbacks/TestCallbacks.ts";
import { startEndpoint } from "../../src/Endpoint.ts";
import type { Configuration } from "../../src/state/Configuration.ts";
import * as Identity from "../../src/state/Identity.ts";
import * as PrivateFile from "../../src/state/PrivateFile.ts";
import { StateError } from "../../src/state/StateError.ts";
import * as StateFolder from "../../src/state/StateFolder.ts";
import { authority } from "./Receiver.ts";

const makeFolder = (): StateFolder.StateFolder => StateFolder.open(join(temporaryFolder(), "state"));
const content = { addresses: ["127.0.0.1", "::1"], certificateAuthority: authority.certificate };

const refusalOf = (body: () => unknown): StateError => {
  try {
    body();
  } catch (error) {
    if (error instanceof StateError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
};

verifies("ING-79", "without the file there is nothing to allow, whatever the daemon was told", () => {
  const folder = makeFolder();
  expect(TestCallbacks.read(folder, false)).toBeNull();
  expect(TestCallbacks.read(folder, true)).toBeNull();
});

verifies(
  "ING-79",
  "the file counts for who allows it, and is refused with the way out for anybody else",
  () => {
    const folder = makeFolder();
    PrivateFile.replace(folder.testCallbacks, JSON.stringify(content));
    expect(TestCallbacks.read(folder, true)).toEqual({
      addresses: [Uint8Array.from([127, 0, 0, 1]), Uint8Array.from([...new Uint8Array(15), 1])],
      certificateAuthority: authority.certificate,
    });
    const refusal = refusalOf(() => TestCallbacks.read(folder, false));
    expect(refusal.reason).toBe("not-allowed");
    expect(refusal.message).toContain(folder.testCallbacks);
    expect(refusal.message).toContain("--allow-test-callbacks");
  },
);

const malformed: Readonly<Record<string, unknown>> = {
  "no address": { ...content, addresses: [] },
  "seventeen addresses": { ...content, addresses: new Array(17).fill("127.0.0.1") },
  "a name": { ...content, addresses: ["localhost"] },
  "a block": { ...content, addresses: ["127.0.0.0/8"] },
  "a zone": { ...content, addresses: ["fe80::1%lo"] },
  "no authority": { addresses: ["127.0.0.1"] },
  "an authority that is no certificate": { ...content, certificateAuthority: "trust me" },
  "one field too many": { ...content, proxy: "http://127.0.0.1:3128" },
  "a list": [content],
};

for (const [name, value] of Object.entries(malformed)) {
  verifies("ING-79", `a file with ${name} is malformed`, () => {
    const folder = makeFolder();
    PrivateFile.replace(folder.testCallbacks, JSON.stringify(value));
    const refusal = refusalOf(() => TestCallbacks.read(folder, true));
    expect(refusal.reason).toBe("malformed");
    expect(refusal.message).not.toMatch(/localhost|trust me|3128/);
  });
}

verifies("ING-79", "a file that is no JSON is malformed, and one that others may read is refused", () => {
  const folder = makeFolder();
  for (const text of ["{", `{"addresses":["127.0.0.1"],${JSON.stringify(content).slice(1)}`]) {
    PrivateFile.replace(folder.testCallbacks, text);
    expect(refusalOf(() => TestCallbacks.read(folder, true)).reason).toBe("malformed");
  }
  rmSync(folder.testCallbacks);
  writeFileSync(folder.testCallbacks, JSON.stringify(content), { mode: 0o644 });
  expect(refusalOf(() => TestCallbacks.read(folder, true)).reason).toBe("permissions");
});

verifies(
  "ING-79",
  "an endpoint starts with the file only where it is allowed, and says in its log that it does",
  async () => {
    const folder = makeFolder();
    Identity.create(folder, randomBytes);
    PrivateFile.replace(folder.testCallbacks, JSON.stringify(content));
    const { publicKey } = Ed25519.signerFromSeed(Buffer.alloc(32, 1));
    const said: Array<string> = [];
    const start = (allowTestCallbacks: boolean) =>
      startEndpoint({
        stateFolder: folder,
        configuration: {
          registryUrl: "http://127.0.0.1:9" as Configuration["registryUrl"],
          routerUrl: "ws://127.0.0.1:9" as Configuration["routerUrl"],
          registryKey: publicKey,
          routerKey: publicKey,
          port: 0,
          mode: "trusted-local",
          logLevel: "info",
          contacts: "everyone",
          blocked: [],
        },
        logger: (level, event) => void said.push(`${level} ${event}`),
        clock: Date.now,
        random: randomBytes,
        allowTestCallbacks,
      });
    await expect(start(false)).rejects.toMatchObject({ reason: "not-allowed" });
    expect(said).toEqual([]);
    const endpoint = await start(true);
    onTestFinished(() => endpoint.close());
    expect(said).toContain("warn callbacks may go to test addresses");
  },
);
