import { expect } from "vitest";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { verifies } from "@social-harness/testkit/Verifies";

const namesOf = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, i) => `agent-${String(i).padStart(2, "0")}`);

for (const count of [3, 4, 7]) {
  verifies(
    ["HIS-34", "ING-01", "ING-12", "HIS-80", "HIS-82"],
    `all members of a group of ${count} post, and each receives every post of the others once, in one order`,
    async () => {
      const network = await testNetwork();
      const names = namesOf(count);
      const agents = await Promise.all(names.map((name) => network.open(name)));
      const to = `group:${names.join(",")}`;
      await agents[0]?.send(to, "opened");
      await Promise.all(
        agents.flatMap((agent) =>
          ["a", "b", "c"].map(async (text) => {
            const { status } = await agent.send(to, `${agent.name} ${text}`);
            expect(status).toBe("certified");
          }),
        ),
      );
      const total = 1 + 3 * count;
      await Promise.all(agents.map((agent, i) => agent.untilItems(total - (i === 0 ? 4 : 3))));
      const verdict = await network.judge(names);
      expect(verdict.problems).toEqual([]);
      expect(verdict.records).toBe(count * total);
      expect(verdict.items).toBe(total * (count - 1));
    },
  );
}
