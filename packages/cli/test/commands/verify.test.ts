// `verify` through the binary: what it says of an intact export, and that it believes no other.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Chains from "@social-harness/testkit/Chains";
import type { MessageAddress } from "@social-harness/protocol/address/Address";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import type { HistoryRecord } from "@social-harness/protocol/history/Evidence";
import * as Export from "@social-harness/protocol/history/Export";
import type { SignerEvidence } from "@social-harness/protocol/history/Statement";
import { failureOf, lastJson, run, runHere, temporaryFolder } from "../Binary.ts";

const { actors, records } = Chains.chain(
  ["ada-agent", "bob-agent"],
  [
    { author: "ada-agent", text: "Monday?\nverified: 99 records" },
    { author: "bob-agent", text: "\u001b[31mNo.\u001b[0m 🎈" },
  ],
);
const ada = actors[0] as Chains.Actor;
const key = Chains.registry.publicKey;
const text = [
  ...Export.write(
    ada.signer,
    { address: "agent:bob-agent" as MessageAddress, exportedBy: ada.card.agentId, registryKey: key },
    records,
  ),
].join("");

const write = (content: string | Uint8Array): string => {
  const path = join(temporaryFolder(), "talk.jsonl");
  writeFileSync(path, content);
  return path;
};

describe("verify", () => {
  verifies("RUN-41", "says who said what in what order, who signed and what no file can show", async () => {
    const ended = await run(["verify", write(text), "--registry-key", key, "--json"]);
    expect(ended.code).toBe(0);
    const result = lastJson(ended);
    expect(result).toMatchObject({
      ok: true,
      address: "agent:bob-agent",
      exportedBy: "ada-agent",
      registryKey: key,
      records: 2,
      headRecordHash: records[1]?.recordHash,
    });
    expect(result["posts"]).toEqual(
      records.map(({ recordHash, recordCore: { action } }, height) => ({
        height,
        recordHash,
        author: ["ada-agent", "bob-agent"][height],
        postId: action.postIntent.postId,
        content: action.postIntent.content,
        actionSigners: expect.arrayContaining(["ada-agent", "bob-agent"]) as unknown,
        durabilitySigners: expect.arrayContaining(["ada-agent", "bob-agent"]) as unknown,
      })),
    );
    expect(result["notChecked"]).toHaveLength(4);
  });

  verifies("RUN-41", "shows other people's words so that they cannot pass for its own", async () => {
    const { code, stdout } = await runHere(["verify", write(text), "--registry-key", key]);
    expect(code).toBe(0);
    expect(stdout).toContain("    Monday?\n    verified: 99 records\n");
    expect(stdout).toContain("\\u{1b}[31mNo.");
    expect(stdout).toMatch(/^verified: 2 records of /m);
    expect(stdout).toContain("not checked, because no file can show it:");
  });

  verifies(
    ["RUN-42", "RUN-02"],
    "refuses a changed byte in any line with exit code 1 and the line",
    async () => {
      const bytes = Buffer.from(text);
      const middles = [0.1, 0.4, 0.7, 0.99].map((part) => Math.floor(bytes.length * part));
      for (const at of middles) {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] as number) ^ 1;
        const ended = await runHere(["verify", write(changed), "--registry-key", key, "--json"]);
        expect([at, ended.code, ended.stdout]).toEqual([at, 1, ""]);
        expect(failureOf(ended).reason).toBe("export-invalid");
        expect(failureOf(ended).message).toMatch(/^this is no intact export: line [1-4]: /);
      }
    },
  );

  verifies(
    ["HIS-118", "RUN-42"],
    "names the line of one forged signature, whether it comes as a file or as a pipe",
    async () => {
      const lines = text.split("\n");
      const forged = JSON.parse(lines[2] as string) as HistoryRecord;
      const [first, second] = forged.durabilityVotes as [SignerEvidence, SignerEvidence];
      const durabilityVotes = [{ ...first, signature: second.signature }, second];
      lines[2] = CanonicalJson.encode({ ...forged, durabilityVotes } as CanonicalJson.Json);
      const file = write(lines.join("\n"));
      const message = "this is no intact export: line 3: record 1: a signature does not verify";
      const ended = await runHere(["verify", file, "--registry-key", key, "--json"]);
      expect([ended.code, failureOf(ended).message]).toEqual([1, message]);
      const throughPipe = async (content: string) => {
        const pipe = join(temporaryFolder(), "pipe");
        execFileSync("mkfifo", [pipe]);
        const [result] = await Promise.all([
          run(["verify", pipe, "--registry-key", key, "--json"]),
          writeFile(pipe, content),
        ]);
        return result;
      };
      const piped = await throughPipe(lines.join("\n"));
      expect([piped.code, failureOf(piped).message]).toEqual([1, message]);
      const good = await throughPipe(text);
      expect([good.code, lastJson(good)["records"]]).toEqual([0, 2]);
    },
  );

  verifies("RUN-42", "refuses another Registry key (C69)", async () => {
    const other = ada.signer.publicKey;
    const ended = await runHere(["verify", write(text), "--registry-key", other, "--json"]);
    expect(ended.code).toBe(1);
    expect(failureOf(ended)).toMatchObject({
      reason: "other-network",
      message: expect.stringMatching(
        /^this file belongs to another network .*: line 1: the export names another/,
      ),
    });
  });

  verifies("RUN-42", "fails on a file that is not there", async () => {
    const ended = await runHere(["verify", join(temporaryFolder(), "none"), "--registry-key", key, "--json"]);
    expect([ended.code, failureOf(ended).reason]).toEqual([1, "file-unreadable"]);
  });

  verifies("RUN-41", "changes nothing in the file", async () => {
    const path = write(text);
    await runHere(["verify", path, "--registry-key", key]);
    expect(readFileSync(path, "utf8")).toBe(text);
  });
});
