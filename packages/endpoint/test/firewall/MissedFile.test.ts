// What becomes of a queue that an earlier life of the endpoint has left, where the file of its rules is gone.

import { rmSync } from "node:fs";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as Firewall from "../../src/firewall/Firewall.ts";
import * as Queue from "../../src/firewall/Queue.ts";
import { checker, walled, type Walled } from "./WalledStore.ts";

const holds = ({ store }: Walled) => store.db.all("SELECT reason FROM firewall_hold ORDER BY sequence");

verifies(
  ["ING-139", "ING-145"],
  "a queue that a killed daemon left is let through where the file is gone",
  async () => {
    const wall = await walled({ rules: [], checker });
    const bob = wall.conversation("bob");
    for (const text of ["one", "two"]) await wall.post(bob, "bob", text);
    await wall.fail(bob);
    await wall.rest();
    const gone = wall.restart();
    await wall.rules(null);
    await gone;
    await wall.post(bob, "bob", "three");
    await wall.rest();
    expect(wall.inbox()).toEqual(["one", "two", "failed agent:bob", "three"]);
  },
);

verifies("ING-245", "a start while the file is away for a moment lets nothing through", async () => {
  const wall = await walled({ rules: [], checker }, { absentMs: 600_000 });
  const [bob, carol] = [wall.conversation("bob"), wall.conversation("carol")];
  await wall.post(bob, "bob", "one");
  await wall.rest();
  rmSync(wall.path);
  await wall.restart();
  await wall.post(bob, "bob", "two");
  await wall.post(carol, "carol", "three");
  await wall.rest();
  expect([wall.inbox(), Queue.count(wall.store.db), wall.firewall().standing()]).toEqual([
    [],
    3,
    Firewall.none,
  ]);
  await wall.rules({ rules: [{ when: { from: ["bob"] }, verdict: "hold" }] });
  await wall.rest();
  expect([wall.inbox(), holds(wall).length]).toEqual([["three"], 2]);
});
