// Whom `daemon --replace` waits for, where the holder's end is not of its doing.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { DatabaseSync } from "node:sqlite";
import * as StateFolder from "@social-harness/endpoint/state/StateFolder";
import { verifies } from "@social-harness/testkit/Verifies";
import { expect, onTestFinished, vi } from "vitest";
import { stop } from "../../src/daemon/Replacing.ts";
import { temporaryFolder } from "../Binary.ts";

const holderScript = fileURLToPath(new URL("../../../endpoint/test/state/LockHolder.ts", import.meta.url));

/** Another process that holds a folder's lock. */
const held = async () => {
  const folder = StateFolder.open(join(temporaryFolder(), "state"));
  const child: ChildProcess = spawn(process.execPath, [holderScript, folder.path], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout as NodeJS.ReadableStream, "data");
  return { folder, pid: child.pid as number };
};

/** What happens at the moment at which the holder would be asked to stop. */
const whenAsked = (happens: (kill: typeof process.kill) => void): void => {
  const kill = process.kill.bind(process);
  const asking = vi.spyOn(process, "kill").mockImplementation(() => {
    asking.mockRestore();
    happens(kill);
    return true;
  });
  onTestFinished(() => asking.mockRestore());
};

verifies("RUN-304", "a holder that ended by itself before it was asked has let go", async () => {
  const { folder, pid } = await held();
  whenAsked((kill) => {
    kill(pid, "SIGKILL");
    throw Object.assign(new Error("kill ESRCH"), { code: "ESRCH" });
  });
  await stop(folder, pid);
});

verifies("RUN-304", "the holder of another user is left alone, and named", async () => {
  const { folder, pid } = await held();
  whenAsked(() => {
    throw Object.assign(new Error("kill EPERM"), { code: "EPERM" });
  });
  await expect(stop(folder, pid)).rejects.toMatchObject({
    reason: "not-allowed",
    message: expect.stringContaining(`pid ${pid}`) as string,
  });
});

verifies("RUN-304", "whoever takes the folder after the one that was asked is not waited for", async () => {
  const { folder, pid } = await held();
  whenAsked((kill) => {
    kill(pid, "SIGKILL");
    // Waits until the kernel has given the lock away, and has not said yet who it is.
    const other = new DatabaseSync(folder.lock, { timeout: 60_000 });
    onTestFinished(() => other.close());
    other.exec("BEGIN IMMEDIATE; UPDATE holder SET born = 'elsewhere'; COMMIT; BEGIN IMMEDIATE");
  });
  await stop(folder, pid);
});
