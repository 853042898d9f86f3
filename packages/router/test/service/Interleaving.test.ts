import { openSqliteLog } from "@social-harness/log/SqliteLog";
import { verifies } from "@social-harness/testkit/Verifies";
import * as fc from "fast-check";
import { connect, envelopeFrom, makeAgents, routerSigner, startBench, type Agent } from "../Fixture.ts";
import { makeLedger } from "./Ledger.ts";
import { startProxy } from "./Proxy.ts";

const agents = makeAgents(4);

const move = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("send" as const),
      sender: fc.nat(agents.length - 1),
      /** Bit i: agent i is a recipient. */
      recipients: fc.integer({ min: 1, max: 2 ** agents.length - 1 }),
      count: fc.integer({ min: 1, max: 20 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("cut" as const), agent: fc.nat(agents.length - 1) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("breathe" as const), ms: fc.integer({ min: 0, max: 8 }) }),
  },
);

verifies(
  ["RTR-30", "RTR-42", "RTR-39"],
  "however sends, cut cables and restarts fall, each recipient gets each envelope once, in lane order",
  () =>
    fc.assert(
      fc.asyncProperty(fc.array(move, { minLength: 5, maxLength: 25 }), async (moves) => {
        const log = openSqliteLog(":memory:");
        // A narrow window, so that catching up from the store and live hand-over alternate.
        const limits = { windowDeliveriesMax: 7, heartbeatMs: 1_000 };
        let bench = await startBench({ log, limits });
        const proxies = await Promise.all(agents.map(() => startProxy(bench.router.url)));
        const everyone = agents.map((agent, i) =>
          connect({ url: proxies[i]?.url as string, routerKey: routerSigner.publicKey }, agent),
        );
        const ledger = makeLedger();
        for (const step of moves) {
          switch (step.kind) {
            case "send": {
              const chosen = agents.filter((_, i) => ((step.recipients >> i) & 1) === 1);
              const sender = everyone[step.sender] as (typeof everyone)[number];
              const set = chosen.length === 1 ? chosen : [...new Set([...chosen, sender.agent])];
              for (let n = 0; n < step.count; n++) {
                ledger.send(sender, envelopeFrom(sender.agent, set as ReadonlyArray<Agent>, `${n}`));
              }
              break;
            }
            case "cut":
              proxies[step.agent]?.cut();
              break;
            case "restart":
              await bench.close();
              bench = await startBench({ log, limits });
              for (const proxy of proxies) proxy.aim(bench.router.url);
              break;
            case "breathe":
              await new Promise((resolve) => setTimeout(resolve, step.ms));
              break;
          }
        }
        await ledger.outcomes();
        for (const told of everyone) {
          await told.until(() => told.deliveries.length >= ledger.expected(told.agent));
        }
        await ledger.audit(everyone);
        await Promise.all(everyone.map(({ client }) => client.close()));
        await Promise.all(proxies.map((proxy) => proxy.close()));
        await bench.close();
        await log.close();
      }),
      { numRuns: 10 },
    ),
);
