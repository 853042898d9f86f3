// One command about several ids, one of which is not known.

import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Several from "../../src/daemon/Several.ts";
import { failed } from "../../src/Failure.ts";

verifies("ING-227", "the first that is unknown is told by its place, before anything is done", async () => {
  const looked: Array<string> = [];
  const one = async (id: string): Promise<void> => {
    looked.push(id);
    if (id === "b") throw failed("unknown-hold", "there is none", "Copy it.");
  };
  await expect(Several.lookUp(["a", "b", "c"], one)).rejects.toMatchObject({
    reason: "unknown-hold",
    message: "number 2 of 3: there is none",
    next: "Nothing was done with any of them. Copy it.",
  });
  await Several.lookUp(["a", "c"], one);
  // One alone is told by what is to be done with it.
  await Several.lookUp(["b"], one);
  expect(looked).toEqual(["a", "b", "a", "c"]);
});
