// `network start`: Registry and Router in one process, until told to stop. Implements RUN-07.

import type { Command } from "commander";
import type { AdmissionMode } from "@social-harness/registry/service/Registering";
import { act, define } from "../Command.ts";
import { misused } from "../Failure.ts";
import { withData, type DataOptions } from "../network/DataOption.ts";
import * as Exposure from "../network/Exposure.ts";
import * as Network from "../network/Network.ts";
import * as NetworkFolder from "../network/NetworkFolder.ts";
import * as Streams from "../Streams.ts";
import { logToStderr } from "../text/Log.ts";
import { announcementLines, forgottenLines } from "../text/Network.ts";
import { closeInTime, isServing, untilStopped } from "../Waiting.ts";

interface Options extends DataOptions, Exposure.ExposureOptions {
  readonly admission: string;
  readonly registryLost?: boolean;
}

const admissionOf = (text: string): AdmissionMode => {
  if (text === "invite" || text === "open") return text;
  throw misused(`"${text}" is no kind of admission`, "It is invite (the default) or open.");
};

export const networkStart = (parent: Command): void => {
  const command = withData(
    define(parent, {
      name: "start",
      summary: "run a network: Registry and Router in one process",
      examples: [
        ["network start --data ./net", "on this machine only"],
        [
          "network start --data ./net --listen 0.0.0.0:7400 --tls-cert c.pem --tls-key k.pem --public-url https://net.example:7400",
          "with its own TLS",
        ],
        [
          "network start --data ./net --public-url https://net.example",
          "behind a proxy: /router to port 7401, the rest to 7400",
        ],
      ],
    }),
  )
    .option(
      "--listen <host:port>",
      "the Registry's address, the Router takes the next port; 0 = any",
      "127.0.0.1:7400",
    )
    .option("--tls-cert <file>", "certificate chain, PEM")
    .option("--tls-key <file>", "private key, PEM")
    .option("--public-url <url>", "how members reach the Registry, where that is not the listening address")
    .option("--admission <kind>", "invite: members need an invite with a credential; open: anybody", "invite")
    .option("--registry-lost", "serve although registry.sqlite is lost: its names can be taken again");
  act<Options, []>(command, async ({ output, options }) => {
    const exposure = Exposure.parse(options);
    const admission = admissionOf(options.admission);
    const mayBeLost = options.registryLost === true;
    Streams.serve();
    const stopped = untilStopped();
    const { folder, keys } = NetworkFolder.openOrCreate(options.data, mayBeLost);
    const logger = logToStderr("warn");
    const network = await Network.start(folder, keys, { exposure, admission, mayBeLost, logger });
    try {
      NetworkFolder.writeReached(folder, { registryUrl: network.registryUrl, routerUrl: network.routerUrl });
      const announcement = NetworkFolder.announcement(NetworkFolder.describe(network, keys));
      const admits =
        admission === "open"
          ? "anybody may join with it"
          : `admits nobody by itself; see: social-harness network invite create --data ${options.data}`;
      const { forgotten } = network;
      if (forgotten > 0) logger("warn", "registry_forgot_agents", { agents: forgotten });
      const warning = forgotten > 0 ? `\n${output.style("yellow", forgottenLines(forgotten))}` : "";
      output.result(
        forgotten > 0 ? { ...announcement, forgottenAgents: forgotten } : announcement,
        `${announcementLines(output, announcement, admits)}${warning}\nStop with Ctrl-C.`,
      );
      isServing();
      await stopped;
    } finally {
      await closeInTime(network.close);
    }
  });
};
