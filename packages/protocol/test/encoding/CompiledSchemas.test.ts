// Compiled decoders beside the interpreter, which a process that may not generate code falls back to.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect } from "vitest";
import type { Json } from "@social-harness/protocol/encoding/CanonicalJson";
import { verifies } from "@social-harness/testkit/Verifies";
import { verdictsOf } from "./PacketVerdicts.ts";
import * as VectorFiles from "./VectorFiles.ts";

const { accepted } = VectorFiles.json<{ readonly accepted: ReadonlyArray<Json> }>("packets.json");

/** The value with `by` in the place that the steps lead to, under a name of its own where there is no such place. */
const replaced = (value: Json, path: ReadonlyArray<number>, by: Json): Json => {
  const [step, ...rest] = path;
  if (step === undefined || typeof value !== "object" || value === null) return by;
  const names = [...Object.keys(value), Array.isArray(value) ? String(value.length) : "more"];
  const name = names[step % names.length] as string;
  const copy = structuredClone(value) as { [name: string]: Json };
  copy[name] = replaced(copy[name] ?? null, rest, by);
  return copy;
};

const changed = fc
  .tuple(
    fc.constantFrom(...accepted),
    fc.array(fc.nat(), { minLength: 1, maxLength: 6 }),
    fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
  )
  .map(([value, path, by]) => replaced(value, path, by));

verifies(
  ["FND-03", "FND-04"],
  "a compiled decoder and the interpreter accept the same packets, and refuse the same",
  () => {
    const values = [...accepted, ...fc.sample(changed, 3_000)];
    const interpreted = spawnSync(
      process.execPath,
      ["--disallow-code-generation-from-strings", join(import.meta.dirname, "Interpreted.ts")],
      { input: JSON.stringify(values), encoding: "utf8", maxBuffer: 1e8 },
    );
    expect(interpreted.stderr).toBe("");
    const compiled = verdictsOf(values);
    expect(compiled.slice(0, accepted.length)).not.toContain("0");
    expect(compiled).toContain("0");
    expect(interpreted.stdout).toBe(compiled);
  },
);
