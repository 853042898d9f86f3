// Run with --disallow-code-generation-from-strings: reads a JSON array from standard input, and writes 1 or 0 for each of its
// values, for whether it is a packet. Ends with an error where code could be generated after all.

import { text } from "node:stream/consumers";
import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import { verdictsOf } from "./PacketVerdicts.ts";

let generated = true;
try {
  Function("");
} catch {
  generated = false;
}
if (generated) throw new Error("this process may generate code");
process.stdout.write(verdictsOf(JSON.parse(await text(process.stdin)) as ReadonlyArray<Json>));
