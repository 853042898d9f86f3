import * as fc from "fast-check";
import { expect } from "vitest";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import { verifies } from "@social-harness/testkit/Verifies";
import * as VectorFiles from "../encoding/VectorFiles.ts";

const decode = Closed.decoder(AgentName.schema);

verifies(["FND-30", "FND-40"], "every valid name is taken, at three and at thirty-two characters too", () => {
  const names = VectorFiles.lines("agent_name_valid.txt");
  for (const name of names) expect(AgentName.is(name) && decode(name) === name, name).toBe(true);
  expect(new Set(names.map((name) => name.length))).toContain(3);
  expect(new Set(names.map((name) => name.length))).toContain(32);
});

verifies(
  ["FND-30", "FND-40"],
  "C67: look-alikes, invisible characters, case twins and wrong lengths are refused",
  () => {
    for (const name of VectorFiles.lines("agent_name_invalid.txt")) {
      expect(AgentName.is(name), JSON.stringify(name)).toBe(false);
      expect(() => decode(name), JSON.stringify(name)).toThrow(DecodeError);
    }
    for (const value of ["abc\n", "\nabc", null, 123, ["abc"], { name: "abc" }])
      expect(AgentName.is(value)).toBe(false);
  },
);

verifies(
  "FND-30",
  "C67: whatever is taken is lower-case ASCII, so no two names look alike by script or case",
  () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 6 }),
        fc.string({ unit: fc.constantFrom(..."ab-1"), maxLength: 34 }),
        (odd, plain) => {
          for (const text of [odd, plain, plain + odd, odd + plain]) {
            if (!AgentName.is(text)) continue;
            expect(/^[a-z0-9-]{3,32}$/.test(text) && !/^-|-$|--/.test(text)).toBe(true);
            expect(text.toLowerCase().normalize("NFKC")).toBe(text);
          }
        },
      ),
      { numRuns: 3_000 },
    );
  },
);

verifies("FND-30", "names compare in unsigned byte order", () => {
  const name = fc.stringMatching(/^[a-z0-9]{1,4}(-[a-z0-9]{1,4}){0,2}$/).filter(AgentName.is);
  fc.assert(
    fc.property(name, name, (left, right) => {
      expect(AgentName.compare(left, right)).toBe(Buffer.compare(Buffer.from(left), Buffer.from(right)));
    }),
  );
});
