// The addresses, URLs and name server answers that callbacks meet, each with its outcome, as one table. Every fault that
// others had with such filters is a row.

import type { CallbackUrlReason } from "../../src/callbacks/CallbackUrl.ts";

export type Outcome = "connected" | "address-refused" | "dns-failed" | `no URL: ${CallbackUrlReason}`;

export interface Row {
  readonly url: string;
  /** What the name server answers; null where it is not to be asked. */
  readonly answers: ReadonlyArray<string> | null;
  readonly outcome: Outcome;
}

const rows =
  (outcome: Outcome, answers: ReadonlyArray<string> | null = null) =>
  (url: string): Row => ({ url, answers, outcome });

const answering =
  (outcome: Outcome) =>
  (answers: string): Row => ({ url: "https://receiver.example/hook", answers: answers.split(" "), outcome });

/** No host that a URL can name in the end is another one than these say. */
const noUrls: ReadonlyArray<Row> = [
  rows("no URL: not-https")("http://receiver.example/"),
  rows("no URL: not-https")("HTTP://receiver.example/"),
  rows("no URL: not-https")("wss://receiver.example/"),
  rows("no URL: not-https")("ftp://receiver.example/"),
  rows("no URL: not-https")("file:///etc/passwd"),
  rows("no URL: not-https")("gopher://receiver.example:70/_"),
  rows("no URL: not-https")("javascript:alert(1)"),
  rows("no URL: not-https")("data:text/plain,hello"),
  rows("no URL: not-https")("blob:https://receiver.example/id"),
  rows("no URL: not-https")("view-source:https://receiver.example/"),
  rows("no URL: user-info")("https://user@receiver.example/"),
  rows("no URL: user-info")("https://user:pass@receiver.example/"),
  rows("no URL: user-info")("https://@receiver.example/"),
  rows("no URL: user-info")("https://:@receiver.example/"),
  rows("no URL: user-info")("https://receiver.example@127.0.0.1/"),
  rows("no URL: user-info")("https://receiver.example%40x@127.0.0.1/"),
  rows("no URL: fragment")("https://receiver.example/#part"),
  rows("no URL: fragment")("https://receiver.example/hook#"),
  rows("no URL: fragment")("https://receiver.example#@127.0.0.1/"),
  rows("no URL: malformed")(""),
  rows("no URL: malformed")("receiver.example/hook"),
  rows("no URL: malformed")("//receiver.example/hook"),
  rows("no URL: malformed")("https:receiver.example"),
  rows("no URL: malformed")("https:/receiver.example"),
  rows("no URL: malformed")("https:///receiver.example/"),
  rows("no URL: malformed")("https://"),
  rows("no URL: malformed")(" https://receiver.example/"),
  rows("no URL: malformed")("https://receiver.example/ "),
  rows("no URL: malformed")("https://receiver.example/a b"),
  rows("no URL: malformed")("https://receiver\n.example/"),
  rows("no URL: malformed")("https://receiver.example/\tx"),
  rows("no URL: malformed")("https://receiver.example/\u0000"),
  rows("no URL: malformed")("https:\\\\receiver.example\\hook"),
  rows("no URL: malformed")("https://receiver.example\\@127.0.0.1/"),
  rows("no URL: malformed")("https://receiver.example:99999/"),
  rows("no URL: malformed")("https://receiver.example:https/"),
  rows("no URL: malformed")("https://[::1"),
  rows("no URL: malformed")("https://[fe80::1%25eth0]/"),
  rows("no URL: malformed")("https://[::ffff:127.0.0.1.]/"),
  rows("no URL: malformed")("https://256.0.0.1/"),
  rows("no URL: malformed")("https://1.2.3.4.5/"),
  rows("no URL: malformed")("https://0x1ffffffff/"),
  rows("no URL: malformed")("https://receiver..example/"),
  rows("no URL: malformed")("https://receiver.example../"),
  rows("no URL: malformed")("https://./"),
  rows("no URL: malformed")("https://.receiver.example/"),
  rows("no URL: malformed")("https://exa%00mple/"),
  rows("no URL: user-info")("https://127.0.0.1%2f@receiver.example/"),
  rows("no URL: too-long")(`https://receiver.example/${"a".repeat(2_024)}`),
  rows("no URL: too-long")(`https://receiver.example/${"\u00e9".repeat(1_000)}`),
  rows("no URL: refused-port")("https://receiver.example:25/"),
  rows("no URL: refused-port")("https://receiver.example:22/"),
  rows("no URL: refused-port")("https://receiver.example:0/"),
  rows("no URL: refused-port")("https://receiver.example:6667/"),
];

const refusedLiterals: ReadonlyArray<Row> = [
  // This machine, in every spelling that a URL parser takes for it.
  "127.0.0.1 127.0.0.1. 127.1 127.0.1 0x7f.1 0x7f.0.0.1 0x7f000001 0X7F000001 2130706433 017700000001 0177.0.0.1",
  "0177.0x0.0.1 127.000.000.001 %31%32%37.0.0.1 127%2E0%2E0%2E1 127\u30020\u30020\u30021 127\uff0e0\uff0e0\uff0e1",
  "\uff11\uff12\uff17.0.0.1 \u2460\u2461\u2466.0.0.1 127.255.255.254 0.0.0.0 0 0x0 0.1.2.3",
  // Private, shared and link-local networks, and the metadata of clouds.
  "10.0.0.1 10.255.255.255 012.0.0.1 172.16.0.1 172.31.255.255 192.168.0.1 192.168.255.255 0xc0a80001 3232235521",
  "100.64.0.1 100.127.255.255 169.254.169.254 169.254.169.254. 0xa9fea9fe 2852039166 0251.0376.0251.0376 169.254.43518",
  // Assignments, documentation, benchmarking, relays, multicast, reserved.
  "192.0.0.1 192.0.0.9 192.0.0.170 192.0.2.1 198.51.100.7 203.0.113.255 198.18.0.1 198.19.255.255 192.88.99.1 192.88.99.2",
  "192.31.196.1 192.52.193.1 192.175.48.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 4294967295 0xffffffff",
  // IPv6: loopback, unspecified, local networks, multicast, deprecated site-local.
  "[::1] [::] [0:0:0:0:0:0:0:1] [::0001] [fe80::1] [fe81::1] [febf::1] [fec0::1] [fc00::1] [fd00::1] [fd00:ec2::254] [ff02::1]",
  "[ff0e::1]",
  // IPv4 in disguise, also of public addresses: a translator decides where it ends.
  "[::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:10.0.0.1] [::ffff:169.254.169.254] [::ffff:8.8.8.8] [::ffff:0:7f00:1]",
  "[::127.0.0.1] [::7f00:1] [::8.8.8.8] [64:ff9b::127.0.0.1] [64:ff9b::a9fe:a9fe] [64:ff9b::808:808] [64:ff9b:1::1]",
  "[64:ff9b:1:ffff::a00:1] [2002:7f00:1::] [2002:a9fe:a9fe::1] [2002:808:808::1] [2001::1] [2001:0:4136:e378:8000:63bf:3fff:fdd2]",
  // The rest of the IPv6 registry.
  "[2001:2::1] [2001:3::1] [2001:4:112::1] [2001:10::1] [2001:1f:ffff::1] [2001:20::1] [2001:2f:ffff::1] [2001:30::1] [2001:1::1]",
  "[2001:db8::1] [2001:db8:ffff::1] [3fff::1] [3fff:fff:ffff::1] [2620:4f:8000::1] [100::1] [100:0:0:1::1] [5f00::1] [5f00:ffff::1]",
  // Never given out.
  "[4000::1] [8000::1] [1fff:ffff::1] [::1:0:0:0]",
]
  .flatMap((line) => line.split(" "))
  .map((host) => rows("address-refused")(`https://${host}/hook`));

const refusedAnswers: ReadonlyArray<Row> = [
  "127.0.0.1",
  "10.0.0.1",
  "169.254.169.254",
  "0.0.0.0",
  "100.64.0.1",
  "::1",
  "::",
  "::ffff:127.0.0.1",
  "::7f00:1",
  "64:ff9b::a9fe:a9fe",
  "64:ff9b:1::1",
  "2002:7f00:1::",
  "2001:0:4136:e378:8000:63bf:3fff:fdd2",
  "fe80::1",
  "fe80::1%eth0",
  "fe81::1",
  "fd12:3456::1",
  "5f00::1",
  // One bad address among good ones is enough, wherever it stands.
  "93.184.216.34 127.0.0.1",
  "127.0.0.1 93.184.216.34",
  "93.184.216.34 2606:2800:220:1::1 ::1",
  "2606:2800:220:1::1 ::ffff:10.0.0.1 93.184.216.34",
  // What is no address at all is none that was checked.
  "receiver.example",
  "93.184.216.34 localhost",
  "2130706433",
].map(answering("address-refused"));

const connectedLiterals: ReadonlyArray<Row> = [
  "1.1.1.1 8.8.8.8 8.8.8.8. 0x08080808 134744072 010.010.010.010 8.526344 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0",
  "126.255.255.255 128.0.0.1 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.167.255.255",
  "192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 [2000::1] [2001:200::1] [2001:db7::1] [2001:db9::1] [2003::1]",
  "[2606:4700:4700::1111] [2606:4700:4700:0:0:0:0:1111] [2a00:1450:4001::200e] [3ffe::1] [3fff:1000::1] [3fff:ffff::1]",
]
  .flatMap((line) => line.split(" "))
  .map((host) => rows("connected")(`https://${host}/hook`));

const connectedNames: ReadonlyArray<Row> = [
  ...[
    "93.184.216.34",
    "2606:2800:220:1::1",
    "93.184.216.34 93.184.216.35",
    "93.184.216.34 2606:2800:220:1::1",
  ].map(answering("connected")),
  ...[
    "https://receiver.example",
    "https://receiver.example.",
    "https://RECEIVER.example:443/",
    "https://receiver.example:8443/hook?key=value&other=%2F",
    "https://b\u00fccher.example/",
    "https://xn--bcher-kva.example/",
    "https://receiver\u3002example/",
    "https://127.0.0.1.receiver.example/",
    "https://localhost.receiver.example/",
    "https://1.receiver.example/",
    // The name alone says nothing: only where it leads counts.
    "https://localhost/",
    "https://metadata.google.internal/",
  ].map(rows("connected", ["93.184.216.34"])),
];

const unknownNames: ReadonlyArray<Row> = [
  rows("dns-failed", [])("https://nowhere.example/"),
  rows("dns-failed", [])("https://localhost/"),
];

export const corpus: ReadonlyArray<Row> = [
  ...noUrls,
  ...refusedLiterals,
  ...refusedAnswers,
  ...connectedLiterals,
  ...connectedNames,
  ...unknownNames,
];
