// Certificates that prove nothing: each ends the call before there is a request.

import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import { makeAuthority } from "./Certificates.ts";
import {
  authority,
  callOf,
  failed,
  localClient,
  loopback,
  never,
  receiverFor,
  requestTo,
  type startReceiver,
  urlAt,
} from "./Receiver.ts";

const certificates: Readonly<Record<string, Parameters<typeof startReceiver>[1]>> = {
  "for another name": { issued: authority.issue(["other.example", "receiver.example.evil.example"]) },
  "for the address instead of the name": { issued: authority.issue([loopback]) },
  "for a wildcard one level up": { issued: authority.issue(["*.example.example", "*"]) },
  "that has expired": { issued: authority.issue(["receiver.example"], new Date("2021-01-01T00:00:00Z")) },
  "of an authority that nobody trusts": {
    issued: makeAuthority("another authority").issue(["receiver.example"]),
  },
  "of an authority that only has the trusted one's name": {
    issued: makeAuthority("callback test authority").issue(["receiver.example"]),
  },
};

for (const [name, options] of Object.entries(certificates)) {
  verifies("ING-67", `a certificate ${name} proves nothing, and no request is sent (C31)`, async () => {
    const receiver = await receiverFor((_request, response) => void response.end(), options);
    expect(await callOf(receiver)).toEqual(failed("tls-failed"));
    expect(receiver.requests).toEqual([]);
  });
}

verifies("ING-67", "a literal is proved by its own address in the certificate, and by no other", async () => {
  const issued = authority.issue(["127.0.0.2"]);
  const receiver = await receiverFor((_request, response) => void response.end(), { issued });
  const client = localClient();
  expect(await client.post(requestTo(urlAt(receiver, loopback)), never)).toEqual(failed("tls-failed"));
  expect(receiver.requests).toEqual([]);
});
