import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { allFiles } from "../../../../tools/vectors/AllFiles.ts";
import * as VectorFiles from "./VectorFiles.ts";

verifies(
  "FND-50",
  "the committed vectors are byte for byte what the writer writes, and there are no others",
  () => {
    const written = allFiles();
    const committed = readdirSync(VectorFiles.vectorsFolder).filter((name) =>
      /\.(txt|json|jsonl)$/.test(name),
    );
    expect(committed.toSorted()).toEqual([...written.keys()].toSorted());
    for (const [name, text] of written) {
      expect(readFileSync(join(VectorFiles.vectorsFolder, name), "utf8") === text, name).toBe(true);
    }
  },
);
