import type { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import { hashOfText } from "@social-harness/protocol/encoding/Hash";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { verifies } from "@social-harness/testkit/Verifies";
import type { AnchorHash, ConversationId } from "@social-harness/protocol/identity/Identifier";
import * as AnchorRows from "../../src/store/AnchorRows.ts";
import * as Database from "../../src/store/Database.ts";
import { StoreError } from "../../src/store/StoreError.ts";
import * as RecordRows from "../../src/store/RecordRows.ts";
import * as Settings from "../../src/store/Settings.ts";
import { check } from "../../src/store/StartUpCheck.ts";
import { alter, temporaryPath } from "./TemporaryStore.ts";
import { addresses, altered, direct, dumpOf, readAll, refusalOf, useWrittenStore } from "./WrittenStore.ts";

const store = useWrittenStore();

type Row = Readonly<Record<string, string | number | Uint8Array | null>>;

const rowsOf = (sqlite: DatabaseSync, table: string): ReadonlyArray<Row> =>
  sqlite.prepare(`SELECT rowid AS rowid, * FROM ${table} ORDER BY rowid`).all() as ReadonlyArray<Row>;

/** The same value with one byte of it changed, still of its column's type. */
const changed = (value: Row[string]): Row[string] => {
  if (value === null) return 1;
  if (typeof value === "number") return value + 1_000;
  const bytes = Buffer.from(value as string);
  const middle = bytes.byteLength >> 1;
  bytes[middle] = (bytes[middle] as number) ^ 1;
  return typeof value === "string" ? bytes.toString("latin1") : new Uint8Array(bytes);
};

const columnsOf = (table: string): ReadonlyArray<string> => {
  let names: ReadonlyArray<string> = [];
  alter(store.copy(), (sqlite) => {
    names = sqlite
      .prepare(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .map(({ name }) => String(name));
  });
  return names;
};

/** Start-up refuses the store in words and changes nothing; every read fails, or is what it was. */
const expectRefused = async (
  path: string,
  readFailures: ReadonlyArray<string>,
  someReadFails = true,
): Promise<void> => {
  const before = dumpOf(path);
  const refusal = await refusalOf(path, store.trust);
  expect(refusal?.reason).toBe("corrupt");
  expect(refusal?.message).toMatch(/restore .* from a backup, nothing has been changed or deleted/);
  expect(dumpOf(path)).toBe(before);
  await expectReads(path, readFailures, someReadFails);
  expect(dumpOf(path)).toBe(before);
};

const expectReads = async (
  path: string,
  readFailures: ReadonlyArray<string>,
  someFails: boolean,
): Promise<void> => {
  const db = Database.open(path);
  let failed = 0;
  for (const address of addresses) {
    const read = await readAll(db, store.trust, address);
    if (typeof read === "string") {
      failed++;
      expect(readFailures).toContain(read);
    } else expect(read).toEqual(store.histories.get(address));
  }
  db.close();
  if (someFails) expect(failed).toBeGreaterThan(0);
};

verifies("HIS-65", "the store as it was written starts, and reads what it read before", async () => {
  const path = store.copy();
  expect(await refusalOf(path, store.trust)).toBeNull();
  await expectReads(path, [], false);
});

verifies(
  ["HIS-65", "MGT-49"],
  "a changed byte in any column of a record is seen at start-up and by reads, and nothing is deleted",
  async () => {
    for (const column of columnsOf("record")) {
      for (const place of [1, 8]) {
        const path = altered(store, (sqlite) => {
          const row = rowsOf(sqlite, "record")[place] as Row;
          sqlite
            .prepare(`UPDATE record SET "${column}" = ? WHERE rowid = ?`)
            .run(changed(row[column] as Row[string]), row["rowid"] as number);
        });
        // A sequence only says when a record was committed here; where it still fits, everything else is as it was.
        if (column === "sequence" && (await refusalOf(path, store.trust)) === null) {
          await expectReads(path, [], false);
        } else if (column === "sequence") {
          await expectReads(path, ["persistence-failed"], false);
        } else await expectRefused(path, ["persistence-failed"]);
      }
    }
  },
);

verifies(
  ["HIS-65", "MGT-49"],
  "a changed byte in any column of a conversation is seen at start-up and by reads",
  async () => {
    for (const column of columnsOf("conversation")) {
      for (const address of addresses) {
        const path = altered(store, (sqlite) => {
          const row = rowsOf(sqlite, "conversation").find((one) => one["address"] === address) as Row;
          sqlite
            .prepare(`UPDATE conversation SET "${column}" = ? WHERE rowid = ?`)
            .run(changed(row[column] as Row[string]), row["rowid"] as number);
        });
        await expectRefused(path, ["persistence-failed"]);
      }
    }
  },
);

verifies("HIS-65", "a changed byte in the core of an open proposal is seen at start-up", async () => {
  for (const column of columnsOf("candidate")) {
    const path = altered(store, (sqlite) => {
      const [row] = rowsOf(sqlite, "candidate");
      if (column !== "height")
        sqlite.prepare(`UPDATE candidate SET "${column}" = ?`).run(changed(row?.[column] as string));
      else sqlite.exec("DELETE FROM candidate");
    });
    expect((await refusalOf(path, store.trust))?.reason).toBe("corrupt");
  }
});

verifies(
  "HIS-138",
  "a changed byte in any accepted anchor, or one that was taken away, is seen at start-up",
  async () => {
    // Which term an anchor was accepted in is no part of it.
    const columns = columnsOf("anchor").filter((column) => column !== "term");
    let anchors: ReadonlyArray<Row> = [];
    alter(store.copy(), (sqlite) => {
      anchors = sqlite.prepare("SELECT * FROM anchor").all() as ReadonlyArray<Row>;
    });
    expect(anchors.filter(({ anchor }) => String(anchor).includes("completed_reanchor"))).toHaveLength(2);
    const where = "conversation_id = ? AND anchor_hash = ?";
    for (const row of anchors) {
      const key = [row["conversation_id"] as string, row["anchor_hash"] as string];
      for (const column of columns) {
        const path = altered(store, (sqlite) => {
          const value = changed(row[column] as Row[string]);
          sqlite.prepare(`UPDATE anchor SET "${column}" = ? WHERE ${where}`).run(value, ...key);
        });
        expect([column, (await refusalOf(path, store.trust))?.reason]).toEqual([column, "corrupt"]);
      }
      const path = altered(store, (sqlite) =>
        sqlite.prepare(`DELETE FROM anchor WHERE ${where}`).run(...key),
      );
      expect((await refusalOf(path, store.trust))?.reason).toBe("corrupt");
    }
  },
);

verifies("HIS-138", "no single byte of a stored anchor can change, its statements included", () => {
  const path = store.copy();
  const db = Database.open(path);
  const row = db.get("SELECT * FROM anchor WHERE anchor LIKE '%completed_reanchor%'") as Row;
  const [conversationId, anchorHash] = [row["conversation_id"], row["anchor_hash"]] as [
    ConversationId,
    AnchorHash,
  ];
  expect(AnchorRows.find(db, conversationId, anchorHash)).toMatchObject({ kind: "completed_reanchor" });
  const bytes = Buffer.from(row["anchor"] as string, "utf8");
  for (let i = 0; i < bytes.byteLength; i++) {
    const other = Buffer.from(bytes);
    other[i] = (other[i] as number) ^ (1 << (i % 7));
    db.transaction(() => {
      db.run("UPDATE anchor SET anchor = ? WHERE anchor_hash = ?", other.toString("utf8"), anchorHash);
      expect(() => AnchorRows.find(db, conversationId, anchorHash), `byte ${i}`).toThrow(StoreError);
    });
  }
  db.close();
});

verifies(
  "RUN-54",
  "a changed byte in a card, in a post that is still to be said or in the own card is seen at start-up",
  async () => {
    const places: ReadonlyArray<readonly [string, ReadonlyArray<string>, string]> = [
      ["card", columnsOf("card"), "1"],
      ["intent", ["conversation_id", "post_id", "intent", "intent_hash"], "outcome IS NULL"],
      ["registration", ["agent_card"], "1"],
    ];
    for (const [table, columns, where] of places) {
      for (const column of columns) {
        const path = altered(store, (sqlite) => {
          const row = sqlite.prepare(`SELECT rowid AS rowid, * FROM ${table} WHERE ${where}`).get() as Row;
          sqlite
            .prepare(`UPDATE ${table} SET "${column}" = ? WHERE rowid = ?`)
            .run(changed(row[column] as Row[string]), row["rowid"] as number);
        });
        const refusal = await refusalOf(path, store.trust);
        expect([table, column, refusal?.reason]).toEqual([table, column, "corrupt"]);
      }
    }
  },
);

verifies(["HIS-65", "MGT-47"], "a record that was taken away is missed", async () => {
  for (const place of [0, 1, 4, 7, 8]) {
    for (const isVerified of [false, true]) {
      const path = store.copy();
      // Afterwards no signature below the checkpoint is looked at.
      if (isVerified) expect(await refusalOf(path, store.trust)).toBeNull();
      alter(path, (sqlite) => {
        const row = rowsOf(sqlite, "record")[place] as Row;
        sqlite.prepare("DELETE FROM record WHERE rowid = ?").run(row["rowid"] as number);
      });
      await expectRefused(path, ["history-gap", "persistence-failed"]);
    }
  }
});

verifies("HIS-65", "a conversation that was taken away from its records is missed", async () => {
  for (const address of addresses) {
    const path = altered(store, (sqlite) => {
      sqlite.prepare("DELETE FROM conversation WHERE address = ?").run(address);
    });
    await expectRefused(path, ["persistence-failed"]);
  }
});

verifies(["HIS-65", "MGT-49"], "two records that changed places are seen, however it was done", async () => {
  const swap = (columns: ReadonlyArray<string>) =>
    altered(store, (sqlite) => {
      const [, left, right] = rowsOf(sqlite, "record").filter(({ height }) => Number(height) > 0) as [
        Row,
        Row,
        Row,
      ];
      const put = (rowid: number, values: Row): void => {
        for (const column of columns) {
          sqlite
            .prepare(`UPDATE record SET "${column}" = ? WHERE rowid = ?`)
            .run(values[column] as string, rowid);
        }
      };
      // Unique columns cannot be exchanged in one step.
      put(left["rowid"] as number, {
        height: -1,
        record_hash: "x",
        post_id: "x",
        conversation_id: "x",
        core: "",
        evidence: "",
        evidence_digest: "",
        author_agent_id: "x",
      });
      put(right["rowid"] as number, left);
      put(left["rowid"] as number, right);
    });
  const bodies = ["record_hash", "author_agent_id", "post_id", "core", "evidence", "evidence_digest"];
  await expectRefused(swap(["height"]), ["persistence-failed"]);
  await expectRefused(swap(["evidence", "evidence_digest"]), ["persistence-failed"]);
  await expectRefused(swap(bodies), ["persistence-failed"]);
  // Whole rows that changed places are the same chain, committed in another order than it can have been.
  await expectRefused(swap([...bodies, "conversation_id", "height"]), ["persistence-failed"], false);
});

verifies(["HIS-61", "HIS-65"], "no single byte of a stored record or of its evidence can change", () => {
  const path = store.copy();
  alter(path, (sqlite) => {
    const row = rowsOf(sqlite, "record")[1] as Row;
    expect(RecordRows.decode(row as Database.Row).recordHash).toBe(row["record_hash"]);
    for (const column of [
      "core",
      "evidence",
      "record_hash",
      "evidence_digest",
      "author_agent_id",
      "post_id",
    ]) {
      const bytes = Buffer.from(row[column] as string, "utf8");
      for (let i = 0; i < bytes.byteLength; i++) {
        const other = Buffer.from(bytes);
        other[i] = (other[i] as number) ^ (1 << (i % 7));
        const forged = { ...row, [column]: other.toString("utf8") } as Database.Row;
        expect(() => RecordRows.decode(forged), `${column} ${i}`).toThrow(StoreError);
      }
    }
  });
});

/** Puts another signature of the same record in the place of one, with a digest that fits. */
const forgeEvidence = (sqlite: DatabaseSync): void => {
  const row = rowsOf(sqlite, "record").findLast(({ height }) => height === 5) as Row;
  const evidence = JSON.parse(row["evidence"] as string) as {
    actionSignatures: Array<{ signature: string }>;
    durabilityVotes: Array<{ signature: string }>;
  };
  const [action, durability] = [evidence.actionSignatures[0], evidence.durabilityVotes[0]];
  if (action === undefined || durability === undefined) throw new Error("the record has no votes");
  action.signature = durability.signature;
  const text = JSON.stringify(evidence);
  sqlite
    .prepare("UPDATE record SET evidence = ?, evidence_digest = ? WHERE rowid = ?")
    .run(text, Base64Url.encode(hashOfText("evidence", text)), row["rowid"] as number);
};

verifies(
  ["HIS-63", "HIS-64"],
  "signatures are verified since the last checkpoint, and reads verify all of theirs",
  async () => {
    const path = altered(store, forgeEvidence);
    const refusal = await refusalOf(path, store.trust);
    expect(refusal?.message).toContain("a signature does not verify");
    alter(path, (sqlite) => {
      expect(sqlite.prepare("SELECT 1 FROM setting WHERE name = 'verified_sequence'").get()).toBeUndefined();
    });
    const passed = store.copy();
    expect(await refusalOf(passed, store.trust)).toBeNull();
    alter(passed, forgeEvidence);
    expect(await refusalOf(passed, store.trust)).toBeNull();
    const db = Database.open(passed);
    expect(Settings.integer(db, "verified_sequence")).toBe(9);
    expect(await readAll(db, store.trust, direct)).toBe("persistence-failed");
    db.close();
  },
);

verifies("HIS-64", "a checkpoint beyond the records that there are is damage", async () => {
  const path = store.copy();
  expect(await refusalOf(path, store.trust)).toBeNull();
  alter(path, (sqlite) => sqlite.exec("UPDATE setting SET value = x'3939' WHERE name = 'verified_sequence'"));
  expect((await refusalOf(path, store.trust))?.message).toContain("less than what was verified");
});

verifies(
  "RUN-54",
  "an own card of another Registry is refused at start-up, also where no record could betray it",
  async () => {
    const path = temporaryPath();
    const db = Database.open(path);
    try {
      db.run("ATTACH ? AS other", store.copy());
      db.run("INSERT INTO registration SELECT * FROM other.registration");
      await check(db, store.trust);
      const { publicKey: registryKey } = Ed25519.signerFromSeed(Buffer.alloc(32, 9));
      await expect(check(db, { ...store.trust, registryKey })).rejects.toThrow(
        "own card does not verify under the pinned Registry key",
      );
    } finally {
      db.close();
    }
  },
);
