import { expect } from "vitest";
import { AgentId } from "@social-harness/protocol/identity/Identifier";
import { verifies } from "@social-harness/testkit/Verifies";
import { signedBy } from "../../src/text/Signers.ts";

verifies("RUN-89", "the members who are not among a record's signers are named", () => {
  const ids = [1, 2, 3, 4].map((byte) => AgentId.fromBytes(Buffer.alloc(16, byte)));
  const names = new Map<string, string>(ids.map((id, i) => [id, `agent-${i}`]));
  const by = (...places: ReadonlyArray<number>) =>
    signedBy(
      names,
      places.map((i) => ({ signerAgentId: ids[i] as AgentId, signature: "" as never })),
    );
  expect(by(0, 1, 2, 3)).toBe("signed by 4 of 4");
  expect(by(0, 1, 3)).toBe("signed by 3 of 4, without agent-2");
});
