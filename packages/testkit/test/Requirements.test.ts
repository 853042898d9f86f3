// The specification and the tests agree, and the gate that says so can fail in every way it promises.

import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import * as Requirements from "@social-harness/testkit/Requirements";
import * as TidyTree from "@social-harness/testkit/TidyTree";

const page = (text: string, path = "docs/spec/ingress.md"): Requirements.Page => ({ path, text });
const citing = (code: string) => TidyTree.of(new Map([["packages/log/test/A.test.ts", code]])).sources;
const shipping = (code: string) => TidyTree.of(new Map([["packages/log/src/A.ts", code]])).sources;
const proves = (id: string): string => `verifies("${id}", "a title", () => {});`;

describe("the gate", () => {
  test("a clause that a test cites is fine, and so is a gap that none cites", () => {
    const pages = [page("- **ING-01** One.\n- **ING-02** (gap) Two.\n- **ING-03** Three.")];
    const tests = citing('verifies(["ING-01", "ING-03"], "a title", () => {});');
    expect(Requirements.check(pages, tests)).toEqual([]);
  });

  test("a clause that no test cites", () => {
    expect(Requirements.check([page("\n- **ING-01** One.")], [])).toEqual([
      "docs/spec/ingress.md:2 ING-01 is cited by no test; write one, or mark the clause (gap)",
    ]);
  });

  test("a citation in a comment or in shipped code counts for nothing", () => {
    const shipped = shipping(proves("ING-01"));
    const commented = citing(`// ${proves("ING-01")}`);
    expect(Requirements.check([page("- **ING-01** One.")], [...shipped, ...commented])).toHaveLength(1);
  });

  test("a citation of a clause that no page defines, or that is no literal", () => {
    expect(Requirements.check([], citing(`${proves("ING-99")}\nverifies(clause, "x", () => {});`))).toEqual([
      "packages/log/test/A.test.ts:1 cites ING-99, which no page of docs/spec defines",
      "packages/log/test/A.test.ts:2 cites (not a literal), which no page of docs/spec defines",
    ]);
  });

  test("a clause that is defined twice", () => {
    const pages = [page("- **ING-01** One.\n- **ING-01** Again.")];
    expect(Requirements.check(pages, citing(proves("ING-01")))).toEqual([
      "docs/spec/ingress.md:2 ING-01 is already defined at docs/spec/ingress.md:1",
    ]);
  });

  test("a clause on the page of another subsystem", () => {
    const pages = [page("- **RTR-01** One.")];
    expect(Requirements.check(pages, citing(proves("RTR-01")))).toEqual([
      "docs/spec/ingress.md:1 RTR-01 belongs on router.md or log.md",
    ]);
  });

  test("a gap that has healed", () => {
    const pages = [page("- **ING-01** (gap) One.")];
    expect(Requirements.check(pages, citing(proves("ING-01")))).toEqual([
      "docs/spec/ingress.md:1 ING-01 is cited at packages/log/test/A.test.ts:1; the gap has healed, remove its mark (gap)",
    ]);
  });

  test("a line that is meant as a clause and misspelt", () => {
    const problems = Requirements.check([page("- **ING 01** One.\n- **ing-2** Two.\n- **Bold** prose.")], []);
    expect(problems.map((line) => line.split(" ")[0])).toEqual([
      "docs/spec/ingress.md:1",
      "docs/spec/ingress.md:2",
    ]);
  });

  test("a comment in shipped code that names a clause of no page", () => {
    const pages = [page("- **ING-01** (gap) One.")];
    expect(Requirements.check(pages, shipping("// Implements ING-01 and ING-02."))).toEqual([
      "packages/log/src/A.ts:1 mentions ING-02, which no page of docs/spec defines",
    ]);
  });

  test("the table counts the tests of each clause and names the gaps", () => {
    const pages = [page("- **ING-01** One.\n- **ING-02** (gap) Two.")];
    const requirements = Requirements.gather(pages, citing(`${proves("ING-01")}\n${proves("ING-01")}`));
    expect(Requirements.table(requirements).split("\n")).toEqual([
      "ING-01     2  One.",
      "ING-02   gap  Two.",
      "",
      "2 clauses, 1 proven, 1 known gaps",
    ]);
  });
});

test("every clause of docs/spec is proven by a test or named as a gap", () => {
  const tree = TidyTree.load(fileURLToPath(new URL("../../../", import.meta.url)));
  expect(Requirements.check(Requirements.pagesIn(tree), tree.sources)).toEqual([]);
});
