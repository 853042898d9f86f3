// The network under test: `network start` as one process, or the two services apart. Wherever it runs, it comes back at
// its own addresses, on ports outside of the range from which the system picks, so that nobody takes them meanwhile.

import { createServer } from "node:net";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as Schema from "effect/Schema";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { SigningKey } from "@social-harness/protocol/identity/Identifier";
import * as Invite from "@social-harness/registry/Invite";
import { RegistryUrl, RouterUrl } from "@social-harness/registry/NetworkUrl";
import type { Supply } from "../storage/PowerCut.ts";
import type { Services } from "./Plan.ts";
import * as Resident from "./Resident.ts";

export const binary = fileURLToPath(new URL("../../../cli/src/main.ts", import.meta.url));
const serviceProcess = fileURLToPath(new URL("./ServiceProcess.ts", import.meta.url));

export interface Network {
  readonly residents: ReadonlyArray<Resident.Resident>;
  readonly description: Invite.NetworkDescription;
}

export interface NetworkOptions {
  readonly services: Services;
  readonly folder: string;
  /** The disk of each of them, where a kill is a power cut. */
  readonly plug?: ((name: string, folder: string) => Supply) | null;
  readonly onUnexpectedEnd: (how: string) => void;
}

const decodeTogether = Closed.decoder(
  Schema.Struct({ ...Invite.NetworkDescription.fields, invite: Schema.String }),
);
const decodeRegistry = Closed.decoder(Schema.Struct({ url: RegistryUrl, key: SigningKey.schema }));
const decodeRouter = Closed.decoder(Schema.Struct({ url: RouterUrl, key: SigningKey.schema }));

/** The system picks from 32768 upwards. */
const portMin = 20_000;
const portCount = 12_000;

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });

/** Two free ports in a row; the search begins at another place for each process. */
const portPair = async (): Promise<number> => {
  for (let tried = 0; tried < portCount; tried += 2) {
    const port = portMin + ((process.pid * 16 + tried) % portCount);
    if ((await isFree(port)) && (await isFree(port + 1))) return port;
  }
  throw new Error("no two free ports in a row");
};

/** Starts the services for the first time. */
export const start = async ({
  services,
  folder,
  plug,
  onUnexpectedEnd,
}: NetworkOptions): Promise<Network> => {
  const data = join(folder, "network");
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const port = await portPair();
  const place = (name: string, file: string, args: ReadonlyArray<string>): Resident.Resident =>
    Resident.create({
      name,
      file,
      args,
      supply: plug?.(name, data) ?? null,
      log: join(folder, `${name}.stderr`),
      onUnexpectedEnd,
    });
  if (services === "together") {
    const listen = ["--listen", `127.0.0.1:${port}`, "--admission", "open", "--json"];
    const network = place("network", binary, ["network", "start", "--data", data, ...listen]);
    const { invite: _own, ...description } = decodeTogether(await Resident.startFirst(network));
    return { residents: [network], description };
  }
  const registry = place("registry", serviceProcess, ["registry", data, String(port)]);
  const router = place("router", serviceProcess, ["router", data, String(port + 1)]);
  // One after the other: the first one makes the keys of both.
  const { url: registryUrl, key: registryKey } = decodeRegistry(await Resident.startFirst(registry));
  const { url: routerUrl, key: routerKey } = decodeRouter(await Resident.startFirst(router));
  return { residents: [registry, router], description: { registryUrl, registryKey, routerUrl, routerKey } };
};
