// Two endpoints that cannot even look up the network's name: only the proxy of their company can. What they do where Node is
// told to use it, and where it is not.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished } from "vitest";
import * as Binary from "../Binary.ts";
import * as Machines from "./Machines.ts";
import * as Pair from "./Pair.ts";

const entry = fileURLToPath(new URL("./connectProxy.ts", import.meta.url));
const name = "talk.example.test";
const targets = [`CONNECT ${name}:7400`, `CONNECT ${name}:7401`];

verifies(
  ["RUN-230", "RUN-231", "RUN-232", "RUN-233"],
  "C25: Registry and Router are reached through the proxy where Node's switch is on, and nothing else is",
  async (context) => {
    const machines = await Machines.make(context, { delayMs: 20, loss: 0.01 });
    onTestFinished(machines.close);
    const files = Pair.writeFiles();
    const proxyAt = (port: number, manner: string) =>
      Binary.serve([Machines.hostAddress, `${port}`, manner], { entry, machine: machines.host });
    let proxy = await proxyAt(3128, "serves");
    const url = (port: number) => `http://${Machines.hostAddress}:${port}`;
    const named = { HTTPS_PROXY: url(3128), HTTP_PROXY: url(3128) };
    const told = { ...named, NODE_USE_ENV_PROXY: "1" };
    const network = [
      ["--listen", `${Machines.hostAddress}:7400`, "--public-url", `https://${name}:7400`],
      ["--tls-cert", files.cert, "--tls-key", files.key],
    ].flat();
    const pair = await Pair.start({ machines, files, network, environment: told });
    expect(await pair.post("ada", "a1")).toBe("certified");
    expect(await pair.post("bob", "b1")).toBe("certified");
    const doctor = await pair.command("bob", "doctor");
    expect([doctor.code, doctor.stderr]).toEqual([0, ""]);
    // The network's two services and nothing else: no daemon, no plain request.
    expect([...new Set(proxy.lines.slice(1))].toSorted()).toEqual(targets);

    // Its connections break with it, and come back with it.
    await proxy.stop();
    const meanwhile = pair.post("bob", "b2");
    proxy = await proxyAt(3128, "serves");
    await meanwhile;
    await pair.told("ada", ["b1", "b2"]);
    await pair.told("bob", ["a1"]);

    // Whoever joins here finds the name by no other way than a proxy, so each of these fails, and only the last one asked it.
    const refusing = await proxyAt(3129, "refuses");
    const refused = { HTTPS_PROXY: url(3129) };
    const joined = async (env: NodeJS.ProcessEnv) => {
      const words = [
        "join",
        pair.invite,
        "--name",
        "cyd-agent",
        "--state",
        join(files.root, "cyd"),
        "--json",
      ];
      const ended = await Binary.run(words, {
        machine: machines.guest,
        env: { NODE_EXTRA_CA_CERTS: files.authority, ...env },
      });
      expect(ended.code).toBe(3);
      return Binary.failureOf(ended);
    };
    const unused = "HTTPS_PROXY is set and was not used";
    expect((await joined(refused)).next).toContain(unused);
    await joined({ ...refused, NODE_USE_ENV_PROXY: "1", NO_PROXY: ".example.test" });
    expect(refusing.lines).toHaveLength(1);
    const refusal = await joined({ ...refused, NODE_USE_ENV_PROXY: "1" });
    expect(refusal.next).not.toContain(unused);
    expect(refusal.message).toContain("the proxy that HTTPS_PROXY names did not let it through");
    expect([...new Set(refusing.lines.slice(1))]).toEqual(targets.slice(0, 1));
    await pair.stop();
  },
  300_000,
);
