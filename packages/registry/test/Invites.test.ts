import { expect } from "vitest";
import { openMemoryLog } from "@social-harness/log/MemoryLog";
import * as Admission from "@social-harness/registry/Admission";
import { makeInvites } from "@social-harness/registry/Invites";
import * as Limits from "@social-harness/registry/Limits";
import { verifies } from "@social-harness/testkit/Verifies";
import { registrySigner, seededRandom, tickingClock } from "./TestNetwork.ts";

const registryKey = registrySigner.publicKey;

verifies("IDN-41", "operators on one log see each other's invites, and one revocation counts", async () => {
  const log = openMemoryLog();
  const operators = ["one", "two"].map((seed) =>
    makeInvites({ log, registryKey, clock: tickingClock(), random: seededRandom(seed) }),
  );
  const [one, two] = operators as [(typeof operators)[number], (typeof operators)[number]];
  const made = await Promise.all([one.create(1), two.create(Limits.inviteUsesMax), one.create(7)]);
  expect(await one.list()).toEqual(await two.list());
  expect((await two.list()).map(({ uses, used, state }) => ({ uses, used, state }))).toEqual(
    expect.arrayContaining([
      { uses: 1, used: 0, state: "open" },
      { uses: 7, used: 0, state: "open" },
      { uses: Limits.inviteUsesMax, used: 0, state: "open" },
    ]),
  );
  const { inviteId } = made[0];
  const results = await Promise.all([one.revoke(inviteId), two.revoke(inviteId)]);
  expect(results.map(({ kind }) => kind).toSorted()).toEqual(["already_revoked", "revoked"]);
  const revoked = (await one.list()).find((invite) => invite.inviteId === inviteId);
  expect(revoked).toMatchObject({ state: "revoked", revokedAt: expect.stringMatching(/^2026-11-30T12:/) });
});

verifies("IDN-41", "an invite admits 1 to the greatest number of agents", async () => {
  const log = openMemoryLog();
  const invites = makeInvites({ log, registryKey, clock: tickingClock(), random: seededRandom("x") });
  for (const uses of [0, -1, 1.5, Number.NaN, Limits.inviteUsesMax + 1]) {
    await expect(invites.create(uses)).rejects.toThrow(RangeError);
  }
  expect(await invites.list()).toEqual([]);
});

verifies("IDN-43", "a credential is 32 random bytes, and only a bearer header carries it", () => {
  const random = seededRandom("credentials");
  const credentials = new Set(Array.from({ length: 100 }, () => Admission.mint(random)));
  expect(credentials.size).toBe(100);
  const [credential = ""] = credentials;
  expect(credential).toMatch(/^adm_[A-Za-z0-9_-]{43}$/);
  expect(Admission.fromHeader(`Bearer ${credential}`)).toBe(credential);
  expect(Admission.fromHeader(`bearer ${credential}`)).toBe(credential);
  for (const header of [
    undefined,
    "",
    credential,
    `Basic ${credential}`,
    `Bearer ${credential} x`,
    "Bearer adm_",
  ]) {
    expect(Admission.fromHeader(header)).toBeNull();
  }
});
