// The lists of deliberate bugs cannot rot: each of their texts stands in the sources, once, and so does each test that is named
// for one. A few are hunted here; all of them by `npm run mutants` and `npm run mutants -- --surface`.

import { describe, expect, test } from "vitest";
import { huntAll } from "@social-harness/testkit/mutation/Hunt";
import { apply, type Mutant, problemsOf } from "@social-harness/testkit/mutation/Mutant";
import { mutants } from "@social-harness/testkit/mutation/Mutants";
import { huntSurface } from "@social-harness/testkit/mutation/SurfaceHunt";
import { files, type SurfaceMutant } from "@social-harness/testkit/mutation/SurfaceMutant";
import { surfaceMutants } from "@social-harness/testkit/mutation/SurfaceMutants";
import { readOriginal } from "@social-harness/testkit/mutation/SourceCopy";

const edit = (text: string, replacement = "") => ({ file: "Rule.ts", text, replacement });
const mutantOf = (edits: Mutant["edits"]): Mutant => ({
  name: "example",
  why: "For example.",
  edits,
  scenario: null,
  seeds: 1,
});

describe("the mutants", () => {
  test("are many, with names of their own, and each changes text that occurs exactly once", () => {
    expect(mutants.length).toBeGreaterThanOrEqual(25);
    expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
    expect(mutants.flatMap((mutant) => problemsOf(mutant, readOriginal))).toEqual([]);
    const idle = mutants.filter(({ edits }) => edits.some(({ text, replacement }) => text === replacement));
    expect(idle).toEqual([]);
  });

  test("are refused when their text is gone, or stands in two places", () => {
    const read = (): string => "one two two";
    expect(problemsOf(mutantOf([edit("three")]), read)).toEqual([
      "example: its text occurs 0 times in Rule.ts",
    ]);
    expect(problemsOf(mutantOf([edit("two")]), read)).toEqual([
      "example: its text occurs 2 times in Rule.ts",
    ]);
    expect(problemsOf(mutantOf([edit("one")]), () => null)).toEqual(["example: there is no Rule.ts"]);
    expect(() => apply(mutantOf([edit("two")]), read, () => undefined)).toThrow("occurs 2 times");
  });

  test("change exactly their text", () => {
    let source = "one two three";
    const write = (_: string, text: string): void => void (source = text);
    apply(mutantOf([edit("one", "1"), edit(" three", "!")]), () => source, write);
    expect(source).toBe("1 two!");
  });
});

describe("a hunt", () => {
  test("catches a bug by the word of an oracle, at a seed that holds without it", async () => {
    const names = ["genesis-less-one", "vote-under-ended-round"];
    const chosen = mutants.filter(({ name }) => names.includes(name));
    const hunted = await huntAll(chosen, { first: 1, seeds: null, jobs: 2 });
    expect(hunted.map(({ mutant, caught, escape }) => [mutant.name, caught, escape])).toEqual(
      names.map((name) => [name, true, null]),
    );
    expect(hunted.map(({ sighting }) => sighting?.invariant)).toEqual(["staging", "rounds"]);
  });

  test("does not take a broken program for a caught bug, nor a change without effect", async () => {
    const file = "packages/protocol/src/history/Quorum.ts";
    const text = "export const faultsOf = (n: number): number => (";
    const broken = { ...mutantOf([{ file, text, replacement: text.replace("(n:", "(m:") }]), seeds: 2 };
    const idle = mutantOf([{ file, text, replacement: `${text}0 + ` }]);
    const [first, second] = await huntAll([broken, idle], { first: 1, seeds: null, jobs: 2 });
    expect([first?.caught, second?.caught]).toEqual([false, false]);
    expect(first?.escape).toMatch(/n is not defined/);
    expect(second?.escape).toBe("no oracle objects");
  });
});

describe("the mutants of the surface", () => {
  test("are many, with names of their own, and each changes text that occurs exactly once", () => {
    expect(surfaceMutants.length).toBeGreaterThanOrEqual(40);
    const names = [...surfaceMutants, ...mutants].map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(surfaceMutants.flatMap((mutant) => problemsOf(mutant, readOriginal))).toEqual([]);
  });

  test("name tests that there are", () => {
    for (const { name, test: named } of surfaceMutants) {
      const source = readOriginal(named.file) ?? "";
      // A title may be made of parts, so its words are looked for where no part begins.
      const words = named.title.split(" ").slice(0, 4).join(" ");
      expect([name, source.includes(words)]).toEqual([name, true]);
    }
  });
});

describe("a hunt on the surface", () => {
  const idle = "packages/endpoint/src/operations/Continuations.ts";
  const mutantNamed = (name: string, edits: SurfaceMutant["edits"], title: string): SurfaceMutant => ({
    name,
    why: "For example.",
    edits,
    test: { file: files.continuations, title },
  });

  test("catches a bug by the test that is named for it, and neither a broken program nor an idle change", async () => {
    const spent = surfaceMutants.find(({ name }) => name === "spent-minted-again") as SurfaceMutant;
    const { title } = spent.test;
    const text = "const idleMsMax = 600_000;";
    const same = mutantNamed(
      "idle",
      [{ file: idle, text, replacement: "const idleMsMax = 600 * 1_000;" }],
      title,
    );
    const broken = mutantNamed("broken", [{ file: idle, text, replacement: "" }], title);
    const unloadable = mutantNamed("unloadable", [{ file: idle, text, replacement: "const = 1;" }], title);
    const hunted = await huntSurface([spent, same, broken, unloadable], { jobs: 2 });
    expect(hunted.map(({ sighting }) => sighting !== null)).toEqual([true, false, false, false]);
    expect(hunted[0]?.sighting?.title).toContain(title);
    expect(hunted[1]?.escape).toBe("the test does not object");
    expect(hunted[2]?.escape).toContain("idleMsMax is not defined");
  }, 120_000);

  test("refuses to begin when a named test is not there", async () => {
    const [first] = surfaceMutants;
    const missing = {
      ...(first as SurfaceMutant),
      test: { file: files.continuations, title: "no such title" },
    };
    await expect(huntSurface([missing], { jobs: 1 })).rejects.toThrow("no test of");
  }, 120_000);
});
