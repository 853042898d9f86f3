import { expect } from "vitest";
import { verifies } from "@social-harness/testkit/Verifies";
import * as CallbackUrl from "../../src/callbacks/CallbackUrl.ts";
import * as Limits from "../../src/callbacks/Limits.ts";
import { urlOf } from "./Receiver.ts";

const spellings: ReadonlyArray<readonly [canonical: string, ...others: ReadonlyArray<string>]> = [
  [
    "https://receiver.example/",
    "https://receiver.example",
    "https://receiver.example.",
    "https://receiver.example:443",
    "HTTPS://Receiver.EXAMPLE:0443/",
    "https://receiver\u3002example/",
    "https://rec%65iver.example/",
  ],
  [
    "https://receiver.example/b?c=d",
    "https://receiver.example/a/../b?c=d",
    "https://receiver.example/./b?c=d",
  ],
  ["https://receiver.example:8443/", "https://receiver.example.:8443"],
  ["https://xn--bcher-kva.example/", "https://b\u00fccher.example/", "https://BU\u0308CHER.example/"],
  ["https://127.0.0.1/", "https://0x7f.1", "https://2130706433/", "https://127.0.0.1./"],
  ["https://[2001:db8::1]/", "https://[2001:DB8:0:0:0:0:0:1]"],
];

for (const [canonical, ...others] of spellings) {
  verifies("ING-61", `${canonical} has one text`, () => {
    for (const text of [canonical, ...others]) expect(CallbackUrl.parse(text)).toBe(canonical);
  });
}

verifies("ING-60", "a URL may have 2,048 characters, and its canonical text no more", () => {
  const base = "https://receiver.example/";
  const longest = base + "a".repeat(Limits.urlCharactersMax - base.length);
  expect(CallbackUrl.parse(longest)).toBe(longest);
  expect(CallbackUrl.parse(`${longest}a`)).toMatchObject({ reason: "too-long" });
  expect(CallbackUrl.parse(`${longest.slice(0, -1)}\u00e9`)).toMatchObject({ reason: "too-long" });
});

verifies("ING-60", "a problem says what to do and repeats nothing of the URL", () => {
  for (const text of [
    "http://secret-host.example/",
    "https://user:hunter2@secret-host.example/",
    "https://secret-host.example/#token",
    "https://secret-host.example:25/",
    "https://secret-host .example/",
    `https://secret-host.example/${"x".repeat(3_000)}`,
  ]) {
    const problem = CallbackUrl.parse(text);
    if (typeof problem === "string") throw new Error("this is no callback URL");
    expect(problem.message).toMatch(/^[A-Z].{40,}\.$/);
    expect(problem.message).not.toMatch(/secret|hunter2|token|user:|xxx/);
  }
});

verifies(
  "ING-64",
  "a target names an IPv6 literal without its brackets, and 443 where no port is given",
  () => {
    expect(CallbackUrl.targetOf(urlOf("https://[::1]:8443/x"))).toEqual({ hostname: "::1", port: 8_443 });
    expect(CallbackUrl.targetOf(urlOf("https://receiver.example/x"))).toEqual({
      hostname: "receiver.example",
      port: 443,
    });
  },
);
