import { expect } from "vitest";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Content from "@social-harness/protocol/history/Content";
import * as Limits from "@social-harness/protocol/Limits";
import { testNetwork } from "@social-harness/testkit/network/TestNetwork";
import { verifies } from "@social-harness/testkit/Verifies";

/** Every control character, text that runs from right to left, characters of several code points, one long line. */
const difficult = [
  Array.from({ length: 33 }, (_, code) => String.fromCharCode(code)).join("") +
    "\u007f\u0085\u2028\u2029\ufeff\ufffe",
  "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 \u202eabc\u202c \u2067x\u2069",
  "\u{1f469}\u200d\u{1f469}\u200d\u{1f467} \u{1f1e8}\u{1f1ed} e\u0301 \u00e9 \u{10ffff}",
  "long ".repeat(20_480),
];

verifies(
  ["HIS-53", "OPS-12"],
  "a post of exactly 262,144 canonical bytes, full of difficult texts, reaches a group of 32 byte for byte",
  async () => {
    const network = await testNetwork();
    const names = Array.from({ length: 32 }, (_, i) => `agent-${String(i).padStart(2, "0")}`);
    const agents = [];
    for (const name of names) agents.push(await network.open(name, { sendWaitMs: 120_000 }));
    const to = `group:${names.join(",")}`;
    const [first, second] = agents;
    if (first === undefined || second === undefined) throw new Error("a group without members");
    const room = Limits.contentBytesMax - CanonicalJson.byteLength(Content.ofText(difficult.join("\n")));
    const largest = difficult.join("\n") + "z".repeat(room);
    expect(CanonicalJson.byteLength(Content.ofText(largest))).toBe(262_144);
    const texts = ["\u{1f9ed}", largest];
    for (const text of texts) expect((await first.send(to, text)).status).toBe("certified");
    expect((await second.send(to, "received")).status).toBe("certified");
    for (const agent of agents) {
      const expected = agent === first ? ["received"] : agent === second ? texts : [...texts, "received"];
      await agent.untilItems(expected.length, 60_000);
      expect(agent.texts()).toEqual(expected);
    }
    expect((await network.judge(names)).problems).toEqual([]);
  },
  240_000,
);
