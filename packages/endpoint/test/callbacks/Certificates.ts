// An authority for tests and the certificates that it issues, made at run time: a few lines of DER, because the platform
// reads certificates and writes none.

import { generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import * as IpAddress from "../../src/callbacks/IpAddress.ts";

const der = (tag: number, ...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
};
const sequence = (...parts: ReadonlyArray<Uint8Array>): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));
const octets = (content: Uint8Array): Buffer => der(0x04, content);
const bits = (content: Uint8Array): Buffer => der(0x03, Buffer.from([0]), content);
const time = (date: Date): Buffer =>
  der(0x18, Buffer.from(`${date.toISOString().replace(/\D/g, "").slice(0, 14)}Z`));
const yes = der(0x01, Buffer.from([0xff]));

const ecdsaWithSha256 = sequence(oid("2a8648ce3d040302"));
const named = (commonName: string): Buffer =>
  sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(commonName)))));

const authorityExtension = sequence(oid("551d13"), yes, octets(sequence(yes)));
const namesExtension = (names: ReadonlyArray<string>): Buffer => {
  const general = names.map((name) => {
    const address = IpAddress.parse(name);
    return address === null ? der(0x82, Buffer.from(name)) : der(0x87, address);
  });
  return sequence(oid("551d11"), octets(sequence(...general)));
};

let serial = 1;

interface Body {
  readonly issuer: string;
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly extension: Buffer;
  readonly until: Date;
}

const certificate = ({ issuer, subject, publicKey, extension, until }: Body, key: KeyObject): string => {
  serial += 1;
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([serial >> 8, serial & 0xff].slice(serial < 128 ? 1 : 0))),
    ecdsaWithSha256,
    named(issuer),
    sequence(time(new Date("2020-01-01T00:00:00Z")), time(until)),
    named(subject),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(extension)),
  );
  const whole = sequence(body, ecdsaWithSha256, bits(sign("sha256", body, key)));
  const lines = whole.toString("base64").replace(/.{64}/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines.trimEnd()}\n-----END CERTIFICATE-----\n`;
};

const later = new Date("2120-01-01T00:00:00Z");
const newKeys = () => generateKeyPairSync("ec", { namedCurve: "prime256v1" });

export interface Issued {
  readonly key: string;
  readonly cert: string;
}

export interface Authority {
  /** PEM. */
  readonly certificate: string;
  /** A certificate for these names and addresses. */
  readonly issue: (names: ReadonlyArray<string>, until?: Date) => Issued;
}

export const makeAuthority = (commonName: string): Authority => {
  const own = newKeys();
  // One key for all receivers: making one takes longer than everything else.
  const receiver = newKeys();
  const key = receiver.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  return {
    certificate: certificate(
      {
        issuer: commonName,
        subject: commonName,
        publicKey: own.publicKey,
        extension: authorityExtension,
        until: later,
      },
      own.privateKey,
    ),
    issue: (names, until = later) => ({
      key,
      cert: certificate(
        {
          issuer: commonName,
          subject: "receiver",
          publicKey: receiver.publicKey,
          extension: namesExtension(names),
          until,
        },
        own.privateKey,
      ),
    }),
  };
};
