import { expect } from "vitest";
import { attemptsMax, makeFold, type Choice } from "@social-harness/log/Fold";
import { openMemoryLog } from "@social-harness/log/MemoryLog";
import type { Log } from "@social-harness/log/Log";
import { verifies } from "@social-harness/testkit/Verifies";
import { bytesOf, textOf } from "./suite.ts";

const namesOf = (log: Log) => {
  const names: Array<string> = [];
  const fold = makeFold(log, "s", ({ bytes }) => {
    if (textOf(bytes) === "poison") throw new Error("cannot be folded");
    names.push(textOf(bytes));
  });
  const claim = (name: string): Promise<boolean> =>
    fold.decide((): Choice<boolean> => {
      if (names.includes(name)) return { kind: "answer", value: false };
      return { kind: "append", bytes: bytesOf(name), value: true };
    });
  return { names, fold, claim };
};

verifies("RTR-74", "decisions of several folds on one log are atomic: a name is claimed once", async () => {
  const log = openMemoryLog();
  const folds = Array.from({ length: 4 }, () => namesOf(log));
  const claims = await Promise.all(
    folds.flatMap(({ claim }) => Array.from({ length: 20 }, (_, i) => claim(`name-${i % 10}`))),
  );
  expect(claims.filter(Boolean)).toHaveLength(10);
  await Promise.all(folds.map(({ fold }) => fold.catchUp()));
  for (const { names, fold } of folds) {
    expect(names).toEqual(folds[0]?.names);
    expect(new Set(names).size).toBe(10);
    expect(fold.position()).toBe(10);
  }
});

verifies(
  "RTR-74",
  "catching up sees what was in the log at the call, also behind a running one",
  async () => {
    const log = openMemoryLog();
    const { names, fold } = namesOf(log);
    const first = fold.catchUp();
    await log.append("s", bytesOf("late"));
    await Promise.all([first, fold.catchUp(), fold.catchUp()]);
    expect(names).toEqual(["late"]);
  },
);

verifies("RTR-74", "an entry that cannot be folded stops the fold where it is", async () => {
  const log = openMemoryLog();
  const { names, fold, claim } = namesOf(log);
  for (const name of ["one", "poison", "three"]) await log.append("s", bytesOf(name));
  await expect(fold.catchUp()).rejects.toThrow("cannot be folded");
  await expect(claim("four")).rejects.toThrow("cannot be folded");
  expect([names, fold.position(), await log.tail("s")]).toEqual([["one"], 1, 3]);
});

verifies("RTR-74", "a decision that loses every race ends as unavailable", async () => {
  const log = openMemoryLog();
  let races = 0;
  const contested: Log = {
    ...log,
    append: async (stream, bytes, options) => {
      races++;
      await log.append(stream, bytesOf(`rival ${races}`));
      return log.append(stream, bytes, options);
    },
  };
  await expect(namesOf(contested).claim("mine")).rejects.toEqual(
    expect.objectContaining({ name: "LogError", reason: "unavailable" }),
  );
  expect(races).toBe(attemptsMax);
});
