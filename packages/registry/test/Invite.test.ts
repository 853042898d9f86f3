import * as fc from "fast-check";
import { expect } from "vitest";
import * as Base64Url from "@social-harness/protocol/encoding/Base64Url";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import * as Admission from "@social-harness/registry/Admission";
import * as Invite from "@social-harness/registry/Invite";
import * as Limits from "@social-harness/registry/Limits";
import { verifies } from "@social-harness/testkit/Verifies";
import * as Ed25519 from "@social-harness/protocol/identity/Ed25519";
import { bytesOf, registrySigner, seededRandom } from "./TestNetwork.ts";

const description: Invite.NetworkDescription = {
  registryUrl: "https://network.example/registry",
  routerUrl: "wss://network.example/router",
  registryKey: registrySigner.publicKey,
  routerKey: Ed25519.signerFromSeed(bytesOf("router", 32)).publicKey,
};
const admission = Admission.mint(seededRandom("invite"));

const written = (value: CanonicalJson.Json): string =>
  `shn1_${Base64Url.encode(CanonicalJson.encodeBytes(value))}`;

verifies("IDN-40", "an invite is the network's description, with or without a credential", () => {
  for (const invite of [description, { ...description, admission }]) {
    const text = Invite.encode(invite);
    expect(text).toMatch(/^shn1_[A-Za-z0-9_-]+$/);
    expect(text).toBe(written(invite));
    expect(Invite.decode(text)).toEqual(invite);
  }
  expect(Invite.encode(description)).not.toContain("admission");
});

verifies("IDN-40", "services are encrypted, or on loopback", () => {
  const registryUrls = [
    "http://127.0.0.1:8080",
    "http://[::1]:8080",
    "http://localhost:1",
    "https://a.example",
  ];
  for (const registryUrl of registryUrls) {
    expect(Invite.decode(written({ ...description, registryUrl })).registryUrl).toBe(registryUrl);
  }
  const wrong = [
    "http://network.example",
    "http://128.0.0.1",
    "http://localhost.example",
    "https://HOST.example",
    "https://host.example:443",
    "https://user:pass@host.example",
    "https://host.example/?q",
    "https://host.example/#f",
    "https://host.example/a/../b",
    "ftp://host.example",
    "wss://host.example",
    "",
    `https://host.example/${"x".repeat(Limits.urlCharactersMax)}`,
  ];
  for (const registryUrl of wrong) {
    expect(() => Invite.decode(written({ ...description, registryUrl }))).toThrow(DecodeError);
  }
  expect(() => Invite.decode(written({ ...description, routerUrl: "ws://host.example" }))).toThrow(
    DecodeError,
  );
  expect(Invite.decode(written({ ...description, routerUrl: "ws://127.0.0.1:9" })).routerUrl).toBe(
    "ws://127.0.0.1:9",
  );
});

verifies("IDN-40", "anything but the one spelling of a whole invite is refused without repeating it", () => {
  const good = Invite.encode({ ...description, admission });
  const { routerKey: _, ...incomplete } = description;
  const texts = [
    "",
    "shn1_",
    good.slice("shn1_".length),
    `shn2_${good.slice(5)}`,
    ` ${good}`,
    `${good}\n`,
    `${good}=`,
    `${good.slice(0, -1)}`,
    written(incomplete),
    written({ ...description, extra: 1 }),
    written({ ...description, admission: "adm_x" }),
    written({ ...description, admission: null }),
    written({ ...description, registryKey: "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }),
    `shn1_${Base64Url.encode(Buffer.from(JSON.stringify(description)))}`,
    written("x".repeat(Limits.inviteCharactersMax)),
  ];
  for (const text of texts) expect(() => Invite.decode(text)).toThrow(DecodeError);
  try {
    Invite.decode(`${good}=`);
  } catch (cause) {
    expect(String(cause)).not.toContain(admission.slice(4));
  }
});

verifies("IDN-40", "no text makes the decoder fail otherwise than by its own error", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json().map((text) => `shn1_${Base64Url.encode(Buffer.from(text))}`),
      ),
      (text) => {
        try {
          expect(Invite.encode(Invite.decode(text))).toBe(text);
        } catch (cause) {
          expect(cause).toBeInstanceOf(DecodeError);
        }
      },
    ),
  );
});
