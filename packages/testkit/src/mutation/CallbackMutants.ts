// Bugs of the calls to strangers' addresses: private places that are reached, names that prove nothing, and receivers that
// hold what they should not.

import { files, type SurfaceMutant } from "./SurfaceMutant.ts";

const callbacks = "packages/endpoint/src/callbacks";
const destination = `${callbacks}/Destination.ts`;
const dial = `${callbacks}/Dial.ts`;
const post = `${callbacks}/EffectPost.ts`;
const interimAnswers = `${callbacks}/InterimAnswers.ts`;
const client = `${callbacks}/CallbackClient.ts`;
const policy = `${callbacks}/AddressPolicy.ts`;
const retry = `${callbacks}/RetryAfter.ts`;
const url = `${callbacks}/CallbackUrl.ts`;
const webhook = `${callbacks}/StandardWebhook.ts`;
const testFile = `${callbacks}/TestCallbacks.ts`;

export const callbackMutants: ReadonlyArray<SurfaceMutant> = [
  {
    name: "refused-address-connected",
    why: "A stranger's URL would reach this machine and its networks.",
    edits: [
      {
        file: destination,
        text: 'if (!areAllowed) throw new CallbackFailure("address-refused");',
        replacement: "",
      },
    ],
    test: { file: files.callbackCorpus, title: "never connected to" },
  },
  {
    name: "one-good-address-is-enough",
    why: "A name can have a public address for the check and a private one for the connection.",
    edits: [{ file: destination, text: "addresses.every(", replacement: "addresses.some(" }],
    test: { file: files.callbackCorpus, title: "never connected to" },
  },
  {
    name: "literals-go-unchecked",
    why: "A literal host never asks a name server, so a check of answers alone misses it.",
    edits: [
      {
        file: destination,
        text: "return address !== null && allows(address);",
        replacement: "return isLiteral || (address !== null && allows(address));",
      },
    ],
    test: { file: files.callbackCorpus, title: "never connected to" },
  },
  {
    name: "mapped-addresses-reached",
    why: "IPv4 in an IPv6 disguise is the address inside.",
    edits: [
      {
        file: policy,
        text: "return isIn(unicastV6, address) && !specialV6",
        replacement: "return !specialV6",
      },
    ],
    test: { file: files.callbackCorpus, title: "never connected to" },
  },
  {
    name: "tunnels-reached",
    why: "A tunnel's address holds another one, which nobody checked.",
    edits: [{ file: policy, text: '  "2002::/16", // 6to4\n', replacement: "" }],
    test: { file: files.callbackCorpus, title: "never connected to" },
  },
  {
    name: "other-end-unchecked",
    why: "A socket can arrive where nobody checked, whatever was asked for.",
    edits: [
      {
        file: dial,
        text: "if (remote !== null && allows(remote) && isOneOf(destination.addresses, remote)) return resolve(socket);",
        replacement: "if (remote !== null) return resolve(socket);",
      },
    ],
    test: { file: files.callbackDestinations, title: "arrives at another address" },
  },
  {
    name: "another-allowed-end-taken",
    why: "What may be reached is not for that reason what was asked for.",
    edits: [
      {
        file: dial,
        text: " && isOneOf(destination.addresses, remote)",
        replacement: " && destination.addresses.length > 0 && isOneOf !== undefined",
      },
    ],
    test: { file: files.callbackDestinations, title: "arrives at another address" },
  },
  {
    name: "name-looked-up-again",
    why: "Between two lookups a name can turn to another address.",
    edits: [
      {
        file: dial,
        text: "lookup: (_name, options, answer) => {",
        replacement:
          'lookup: (name, options, answer) => {\n      if (name !== "") return systemLookup(name, options, answer);',
      },
      {
        file: dial,
        text: "import { connect as tcpConnect,",
        replacement: 'import { lookup as systemLookup } from "node:dns";\nimport { connect as tcpConnect,',
      },
    ],
    test: { file: files.callbackDestinations, title: "the system's own lookup never" },
  },
  {
    name: "late-answer-connected",
    why: "A connection that begins after its call has ended belongs to nobody.",
    edits: [{ file: dial, text: "signal.throwIfAborted();", replacement: "" }],
    test: { file: files.callbackDeadline, title: "leads to no connection any more" },
  },
  {
    name: "handshake-outlives-its-call",
    why: "A receiver that says nothing would hold a socket of each call.",
    edits: [{ file: dial, text: 'signal.addEventListener("abort", stop, { once: true });', replacement: "" }],
    test: { file: files.callbackDeadline, title: "takes connections and says nothing" },
  },
  {
    name: "query-outlives-its-call",
    why: "A silent name server would hold a query of each call.",
    edits: [
      {
        file: post,
        text: "(controller) => Effect.sync(() => controller.abort()),",
        replacement: "() => Effect.void,",
      },
    ],
    test: { file: files.callbackDeadline, title: "its query is taken back" },
  },
  {
    name: "no-deadline",
    why: "A receiver that never answers holds its caller for ever.",
    edits: [
      { file: client, text: 'controller.abort(new CallbackFailure("timeout"))', replacement: "undefined" },
    ],
    test: { file: files.callbackDeadline, title: "sends its head and stalls" },
  },
  {
    name: "certificate-of-the-address",
    why: "A certificate for an address says nothing about the name in the URL.",
    edits: [
      {
        file: post,
        text: 'servername: isLiteral ? "" : hostname',
        replacement: 'servername: isLiteral ? "" : "127.0.0.1"',
      },
    ],
    test: { file: files.callbackCertificates, title: "for the address instead of the name" },
  },
  {
    name: "certificates-unchecked",
    why: "Anybody between here and the receiver could answer for it.",
    edits: [{ file: post, text: "rejectUnauthorized: true", replacement: "rejectUnauthorized: false" }],
    test: { file: files.callbackCertificates, title: "proves nothing" },
  },
  {
    name: "environment-unchecks-certificates",
    why: "A variable for another program must not open this one.",
    edits: [{ file: post, text: "    rejectUnauthorized: true,\n", replacement: "" }],
    test: { file: files.callbackEnvironment, title: "turns certificates off" },
  },
  {
    name: "environment-opens-old-tls",
    why: "Versions that are broken would be spoken because a variable for another program allows them.",
    edits: [{ file: post, text: '    minVersion: "TLSv1.2",\n', replacement: "" }],
    test: { file: files.callbackEnvironment, title: "versions of TLS that are broken" },
  },
  {
    name: "interim-answer-refused",
    why: "A receiver behind a server that says 100 unasked would get everything twice and be given up.",
    edits: [{ file: post, text: "resolve(withoutInterim(socket))", replacement: "resolve(socket)" }],
    test: { file: files.callbackInterimAnswers, title: "an answer after" },
  },
  {
    name: "interim-head-without-bound",
    why: "A receiver that sends one head for ever would be remembered whole.",
    edits: [
      {
        file: interimAnswers,
        text: "held.length > Limits.interimBytesMax ? release() : Buffer.alloc(0)",
        replacement: "Buffer.alloc(0 * Limits.interimBytesMax)",
      },
    ],
    test: { file: files.callbackInterimAnswers, title: "no more than one head is" },
  },
  {
    name: "body-read-to-its-end",
    why: "A receiver that sends without an end would be listened to until the deadline.",
    edits: [{ file: post, text: "return size < body.length;", replacement: "return true;" }],
    test: { file: files.callbackAnswers, title: "chunks without an end" },
  },
  {
    name: "traced-callbacks",
    why: "How this process traces itself is not a stranger's to know.",
    edits: [
      {
        file: post,
        text: "HttpClient.TracerDisabledWhen, () => true",
        replacement: "HttpClient.TracerDisabledWhen, () => false",
      },
    ],
    test: { file: files.callbackAnswers, title: "exactly these headers" },
  },
  {
    name: "client-loaded-at-start",
    why: "A daemon without webhooks would wait for a client that it never uses.",
    edits: [
      { file: client, text: 'const effect = await import("./EffectPost.ts");', replacement: "" },
      {
        file: client,
        text: "import * as Limits",
        replacement: 'import * as effect from "./EffectPost.ts";\nimport * as Limits',
      },
    ],
    test: { file: files.callbackEnvironment, title: "no HTTP client is loaded" },
  },
  {
    name: "unbounded-retry-after",
    why: "A receiver could put off its deliveries for years.",
    edits: [
      {
        file: retry,
        text: "Math.min(Math.max(ms, 0), Limits.retryAfterMsMax)",
        replacement: "Math.max(ms, 0)",
      },
    ],
    test: { file: files.retryAfter, title: '"301"' },
  },
  {
    name: "empty-user-info-mended",
    why: "What one parser drops in silence another takes for a host.",
    edits: [{ file: url, text: 'place.includes("@")', replacement: 'new URL(text).username !== ""' }],
    test: { file: files.callbackCorpus, title: "no URL" },
  },
  {
    name: "aliases-of-secrets",
    why: "Two texts of one secret would count as a rotation.",
    edits: [{ file: webhook, text: ' || bytes.toString("base64") !== encoded', replacement: "" }],
    test: { file: files.standardWebhook, title: "another spelling" },
  },
  {
    name: "signature-without-time",
    why: "A delivery could be replayed for ever.",
    edits: [{ file: webhook, text: "`${id}.${timestampSeconds}.`", replacement: "`${id}.`" }],
    test: { file: files.standardWebhook, title: "the reference implementation" },
  },
  {
    name: "test-addresses-for-everybody",
    why: "A file in the folder must not be enough to open this machine.",
    edits: [{ file: testFile, text: "if (isAllowed) return", replacement: 'if (text !== "") return' }],
    test: { file: files.testCallbacks, title: "is refused with the way out" },
  },
];
