import { startSilentProxy } from "@social-harness/testkit/network/SilentProxy";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished } from "vitest";
import { connect, makeAgents, routerSigner, until, type Agent } from "../Fixture.ts";

const [ada] = makeAgents(1) as [Agent];
const router = { url: "wss://net.example.test:7401", routerKey: routerSigner.publicKey };

for (const answer of ["none", "yes"] as const) {
  verifies("RTR-55", `an attempt ends in time at a proxy that is silent after: ${answer}`, async () => {
    const proxy = await startSilentProxy(answer);
    onTestFinished(proxy.close);
    const proxyEnvironment = proxy.environment;
    const told = connect(router, ada, { proxyEnvironment, limits: { helloMs: 50 } });
    await told.until(() => told.disconnects.length === 3);
    expect(told.disconnects).toEqual(["unreachable", "unreachable", "unreachable"]);
    await told.client.close();
    // Nothing is left at the proxy of the attempts that were given up.
    await until(() => proxy.standing() === 0);
  });

  verifies("RTR-55", `a close does not wait for a proxy that is silent after: ${answer}`, async () => {
    const proxy = await startSilentProxy(answer);
    onTestFinished(proxy.close);
    const told = connect(router, ada, {
      proxyEnvironment: proxy.environment,
      limits: { helloMs: 600_000 },
    });
    await until(() => proxy.standing() === 1);
    await told.client.close();
    await until(() => proxy.standing() === 0);
    expect(proxy.taken()).toBe(1);
  });
}
