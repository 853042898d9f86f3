// Liars with one kind of lie: the invariants hold under each of them, and bounds that are as small as they can be are still
// those of the sources.

import { describe, expect, test } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { problemsOf } from "@social-harness/testkit/mutation/Mutant";
import { readOriginal } from "@social-harness/testkit/mutation/SourceCopy";
import { failureOf } from "@social-harness/testkit/simulation/Minimise";
import { schemeNames } from "@social-harness/testkit/simulation/schemes/Schemes";
import { tightLimits } from "@social-harness/testkit/simulation/TightLimits";

describe("the invariants hold under liars who", () => {
  for (const scheme of schemeNames)
    verifies(["HIS-73", "HIS-80", "HIS-83"], `have made ${scheme} their business`, () => {
      const change = { scheme, n: 4, byzantine: 1, authors: 2 };
      for (let seed = 40_001; seed < 40_006; seed++)
        expect(failureOf(seed, { scenario: "schemes", change })).toBeNull();
    });
  verifies(["HIS-80", "HIS-83"], "do one thing again and again", () => {
    for (let seed = 50_001; seed < 50_009; seed++)
      expect(failureOf(seed, { scenario: "liars", change: { stubborn: true } })).toBeNull();
  });
});

describe("tight limits", () => {
  test("each stand in the sources once, as another number", () => {
    expect(problemsOf({ name: "tight limits", edits: tightLimits }, readOriginal)).toEqual([]);
    for (const { text, replacement } of tightLimits) expect(replacement).not.toBe(text);
  });
});
