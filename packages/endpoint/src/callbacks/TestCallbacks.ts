// The one way to let callbacks reach this machine: a file in the state folder that names a few addresses and an authority
// of certificates, for tests alone. It counts only in a daemon that was started to take it; any other refuses to start
// while it lies there. Implements ING-79.

import * as Schema from "effect/Schema";
import { decoder } from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as StrictJson from "@social-harness/protocol/encoding/StrictJson";
import * as PrivateFile from "../state/PrivateFile.ts";
import { StateError } from "../state/StateError.ts";
import type { StateFolder } from "../state/StateFolder.ts";
import * as IpAddress from "./IpAddress.ts";
import * as Limits from "./Limits.ts";

export interface TestCallbacks {
  /** Where callbacks may go besides the public internet. */
  readonly addresses: ReadonlyArray<IpAddress.IpAddress>;
  /** PEM; trusted besides this machine's own. */
  readonly certificateAuthority: string;
}

/** With it on the daemon's command line the file counts. */
export const flag = "--allow-test-callbacks";

const address = Schema.String.check(Schema.makeFilter((text: string) => IpAddress.parse(text) !== null));
const decode = decoder(
  Schema.Struct({
    addresses: Schema.Array(address).check(
      Schema.isMinLength(1),
      Schema.isMaxLength(Limits.testAddressesMax),
    ),
    certificateAuthority: Schema.String.check(Schema.isPattern(/^-----BEGIN CERTIFICATE-----\n/)),
  }),
);

const decodeText = (path: string, text: string): TestCallbacks => {
  try {
    const { addresses, certificateAuthority } = decode(StrictJson.parse(text));
    return { addresses: addresses.flatMap((one) => IpAddress.parse(one) ?? []), certificateAuthority };
  } catch (cause) {
    if (!(cause instanceof DecodeError)) throw cause;
    const expected = `{"addresses": [1 to ${Limits.testAddressesMax} IP addresses], "certificateAuthority": a PEM certificate}`;
    throw new StateError("malformed", `${path} does not hold ${expected}`, "write it anew or remove it", {
      cause,
    });
  }
};

/** What the folder's file says, null when there is none. Throws `StateError` for one that may not count, or cannot be read. */
export const read = (folder: StateFolder, isAllowed: boolean): TestCallbacks | null => {
  const path = folder.testCallbacks;
  const text = PrivateFile.read(path, Limits.testFileBytesMax);
  if (text === null) return null;
  if (isAllowed) return decodeText(path, text);
  throw new StateError(
    "not-allowed",
    `${path} lets callbacks reach private addresses, which is for tests alone`,
    `remove it, or start the daemon with ${flag}`,
  );
};
