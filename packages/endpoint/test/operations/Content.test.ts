import { expect, test } from "vitest";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Content from "@social-harness/protocol/history/Content";
import * as Limits from "@social-harness/protocol/Limits";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { verifies } from "@social-harness/testkit/Verifies";
import { OperationError } from "../../src/operations/OperationError.ts";
import { contentOf } from "../../src/operations/SendMessage.ts";

const reasonOf = (text: string): string => {
  try {
    contentOf(text);
    return "accepted";
  } catch (error) {
    if (error instanceof OperationError) return error.reason;
    throw error;
  }
};

/** Texts whose canonical content takes exactly `bytes` bytes, one for each way that a character is written. */
const textsOf = (bytes: number): ReadonlyArray<readonly [string, string]> => {
  const room = bytes - CanonicalJson.byteLength(Content.ofText(""));
  const filled = (unit: string, size: number): string =>
    unit.repeat(Math.floor(room / size)) + "a".repeat(room % size);
  return [
    ["ascii", filled("a", 1)],
    ["emoji", filled("\u{1f9ed}", 4)],
    ["right to left", filled("\u05e9", 2)],
    ["quotes", filled('"', 2)],
    ["line feeds", filled("\n", 2)],
    ["control characters", filled("\u0001", 6)],
  ];
};

verifies(
  "OPS-08",
  "content is bounded in canonical bytes: at the limit it is accepted, one past it is not",
  () => {
    expect(reasonOf("a".repeat(262_117))).toBe("accepted");
    expect(reasonOf("a".repeat(262_118))).toBe("content-invalid");
    for (const [name, text] of textsOf(Limits.contentBytesMax)) {
      expect(CanonicalJson.byteLength(contentOf(text)), name).toBe(262_144);
    }
    for (const [name, text] of textsOf(Limits.contentBytesMax + 1))
      expect([name, reasonOf(text)]).toEqual([name, "content-invalid"]);
  },
);

verifies("OPS-09", "C68: a lone surrogate is refused, a pair is not", () => {
  for (const text of ["\ud83e", "a\udded", "\udded\ud83e", "\ud83e\ud83e\udded"]) {
    expect(reasonOf(text)).toBe("content-invalid");
  }
  expect(reasonOf("\ud83e\udded")).toBe("accepted");
});

test("C75: from nothing to the largest post, every size arrives as it was sent", async () => {
  const network = await testNetwork();
  const [ann, bob] = await network.openAll(["ann", "bob"]);
  const texts = [
    "",
    "x",
    "y".repeat(255 * 1_024),
    ...textsOf(Limits.contentBytesMax).map(([, text]) => text),
  ];
  for (const text of texts) expect((await ann.send("agent:bob", text)).status).toBe("certified");
  await bob.untilItems(texts.length);
  expect(bob.texts()).toEqual(texts);
  await expect(ann.send("agent:bob", "x".repeat(262_118))).rejects.toMatchObject({
    reason: "content-invalid",
  });
  const records = await bob.history("agent:ann");
  expect(records.map(({ recordCore }) => recordCore.action.postIntent.content)).toEqual(
    texts.map(Content.ofText),
  );
  expect((await network.judge(["ann", "bob"])).problems).toEqual([]);
});
