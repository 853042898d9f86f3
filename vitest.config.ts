// How `npm test` runs: every package's tests, two files at a time. With TEST_RESULTS set, the results are also written
// to that file as JSON, from which `.ci/run` counts.

import { defineConfig } from "vitest/config";

const results = process.env["TEST_RESULTS"];

export default defineConfig({
  test: {
    include: ["packages/*/test/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 2,
    reporters: results === undefined ? ["default"] : ["default", ["json", { outputFile: results }]],
  },
});
