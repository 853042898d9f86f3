import { setImmediate } from "node:timers/promises";
import { makeRegistryClient } from "@social-harness/registry/client/RegistryClient";
import { startSilentProxy } from "@social-harness/testkit/network/SilentProxy";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished } from "vitest";
import { nameOf, registrySigner } from "../TestNetwork.ts";

const unavailable = expect.objectContaining({ name: "RegistryError", reason: "unavailable" });
const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await setImmediate();
};

for (const answer of ["none", "yes"] as const) {
  verifies("RTR-55", `a call ends in time at a proxy that is silent after: ${answer}`, async () => {
    const proxy = await startSilentProxy(answer);
    onTestFinished(proxy.close);
    const client = makeRegistryClient({
      url: "https://net.example.test:7400",
      registryKey: registrySigner.publicKey,
      proxyEnvironment: proxy.environment,
    });
    for (let i = 0; i < 2; i++) {
      await expect(client.list({}, { deadlineMs: 50 })).rejects.toEqual(unavailable);
    }
    expect(proxy.taken()).toBe(2);
    await until(() => proxy.standing() === 0);
    // Shared by all who ask for the same, so it goes on; the client's end is its end.
    const looked = client.lookupByName(nameOf("alice"), { deadlineMs: 600_000 });
    await until(() => proxy.standing() === 1);
    client.close();
    await expect(looked).rejects.toEqual(unavailable);
    await until(() => proxy.standing() === 0);
  });
}
