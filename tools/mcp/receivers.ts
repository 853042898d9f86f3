// `npm run receivers`: an MCP Events receiver that others wrote, the AI SDK's, before a real endpoint: it subscribes, answers
// challenges, takes deliveries and refuses some, and what the endpoint makes of that is compared. A story in steps, one line
// each; a step that fails ends it, since the next would begin elsewhere.

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import process from "node:process";
import { until } from "@social-harness/testkit/network/Until";
import { interruptible } from "../../packages/cli/src/lab/Interruptible.ts";
import type { Event, Granted } from "./AiSdk.ts";
import type { Exchange } from "./HttpsReceiver.ts";
import * as ReceiverScene from "./ReceiverScene.ts";

const itemEvent = "org.social-harness/inbox.item";

type Step = readonly [title: string, run: (scene: ReceiverScene.Scene) => Promise<void>];

const textOf = ({ data }: Event): unknown => {
  const { item } = data as {
    readonly item?: { readonly message: { readonly content: ReadonlyArray<{ readonly text: string }> } };
  };
  return item?.message.content[0]?.text;
};

const stateOf = async ({ own }: ReceiverScene.Scene): Promise<string> => {
  const status = await own((client) => client.call("event_subscription_status"));
  return status.kind === "none" ? "none" : status.state;
};

const unreadOf = async ({ own }: ReceiverScene.Scene): Promise<number> =>
  (await own((client) => client.call("read_inbox"))).items.length;

/** Asks the endpoint until it says so. */
const eventually = async <A>(what: string, ask: () => Promise<A>, wanted: A): Promise<void> => {
  for (let asked = 0; asked < 1_000; asked += 1) if ((await ask()) === wanted) return;
  throw new Error(`asked 1,000 times in vain until ${what}`);
};

const keptTexts = ({ kept }: ReceiverScene.Scene): ReadonlyArray<unknown> => kept.map(textOf);

/** Waits until the host has kept as many events as that, with its receipt on the way. */
const untilKept = (scene: ReceiverScene.Scene, count: number): Promise<void> =>
  until(`${count} events are kept`, () => scene.kept.length >= count);

const untilAnswered = (scene: ReceiverScene.Scene, status: number): Promise<void> =>
  until(`a delivery is answered ${status}`, () => scene.receiver.exchanges.at(-1)?.status === status);

const attemptsOf = ({ receiver }: ReceiverScene.Scene, { eventId }: Event): ReadonlyArray<Exchange> =>
  receiver.exchanges.filter(({ headers }) => headers.get("webhook-id") === eventId);

const last = <A>(values: ReadonlyArray<A>): A => {
  const value = values.at(-1);
  if (value === undefined) throw new Error("there is none");
  return value;
};

const subscribe = ({ client, receiver }: ReceiverScene.Scene): Promise<Granted> =>
  client.experimental_events.subscribe({
    name: itemEvent,
    delivery: { mode: "webhook", url: receiver.url },
  });

/** The one subscription that the host keeps. */
const refresh = ({ client, store }: ReceiverScene.Scene): Promise<Granted> =>
  client.experimental_events.refresh({ key: last(store.all()).key });

const steps: ReadonlyArray<Step> = [
  [
    "the client lists the event under the runtime's token",
    async ({ client }) => {
      const { events } = await client.experimental_events.list();
      deepEqual(events.find(({ name }) => name === itemEvent)?.delivery, ["webhook"]);
    },
  ],
  [
    "a challenge that is answered 500 leaves nothing registered, and the client hears why",
    async (scene) => {
      scene.host.answersInstead = { kind: "verification", status: 500 };
      await rejects(subscribe(scene), { code: -32015, data: { reason: "http_5xx" } });
      scene.host.answersInstead = null;
      equal(await stateOf(scene), "none");
    },
  ],
  [
    "the challenge is answered and the lease taken, also for the subscription that was refused",
    async (scene) => {
      const { id, refreshBefore } = await refresh(scene);
      const { kind, status, headers } = last(scene.receiver.exchanges);
      deepEqual({ kind, status }, { kind: "verification", status: 200 });
      equal(headers.get("x-mcp-subscription-id"), id);
      ok(Date.parse(refreshBefore ?? "") > Date.now());
      equal(await stateOf(scene), "active");
    },
  ],
  [
    "an event is accepted: its signature, envelope and ids, and its data by the published schema",
    async (scene) => {
      await scene.send("one");
      await untilKept(scene, 1);
      await untilAnswered(scene, 204);
      const event = last(scene.kept);
      equal(textOf(event), "one");
      const { headers } = last(attemptsOf(scene, event));
      equal(headers.get("x-mcp-subscription-id"), last(scene.store.all()).id);
      await eventually("the receipt has emptied the inbox", () => unreadOf(scene), 0);
    },
  ],
  [
    "the same bytes are accepted again, and with one more are not",
    async ({ handler, store, receiver }) => {
      const { headers, body } = last(receiver.exchanges);
      const { url } = last(store.all()).delivery;
      const post = async (text: string): Promise<number> =>
        (await handler(new Request(url, { method: "POST", headers, body: text }))).status;
      equal(await post(`${body} `), 401);
      equal(await post(body), 204);
    },
  ],
  [
    "after a 500 the same event comes again before the next",
    async (scene) => {
      scene.host.answersInstead = { kind: "event", status: 500 };
      await scene.send("two");
      await untilAnswered(scene, 500);
      await scene.send("three");
      scene.host.answersInstead = null;
      await untilKept(scene, 4);
      deepEqual(keptTexts(scene).slice(2), ["two", "three"]);
      const attempts = attemptsOf(scene, scene.kept[2] as Event);
      deepEqual(new Set(attempts.map(({ body }) => body)).size, 1);
      ok(attempts.length >= 2);
    },
  ],
  [
    "a host that breaks after its work gets the event again under the id that it knows",
    async (scene) => {
      scene.host.work = "keeps";
      await scene.send("four");
      await untilAnswered(scene, 503);
      scene.host.work = "succeeds";
      await untilKept(scene, 6);
      deepEqual(keptTexts(scene).slice(4), ["four", "four"]);
      equal(scene.kept[4]?.eventId, scene.kept[5]?.eventId);
    },
  ],
  [
    "under a rotated secret the challenge passes, and what was refused under the old one is accepted",
    async (scene) => {
      const { key, id, delivery } = last(scene.store.all());
      const secret = `whsec_${randomBytes(32).toString("base64")}`;
      await scene.store.update(key, { delivery: { ...delivery, secret } });
      await scene.send("five");
      await untilAnswered(scene, 401);
      const granted = await refresh(scene);
      equal(granted.id, id);
      ok(
        scene.receiver.exchanges.filter(({ kind, status }) => kind === "verification" && status === 200)
          .length >= 2,
      );
      await untilKept(scene, 7);
      equal(textOf(last(scene.kept)), "five");
    },
  ],
  [
    "a message that is too large for the envelope comes as a reference, which read_event resolves",
    async (scene) => {
      const text = "x".repeat(262_000);
      await scene.send(text);
      await untilKept(scene, 8);
      const { eventId, data } = last(scene.kept);
      equal(data["kind"], "reference");
      const read = await scene.client.callTool({ name: "read_event", arguments: { eventId } });
      equal(textOf({ ...last(scene.kept), data: read["structuredContent"] as Event["data"] }), text);
    },
  ],
  [
    "a second subscription is refused with its limit, and the first goes on",
    async (scene) => {
      await rejects(subscribe(scene), { code: -32013, data: { limit: "subscriptions", max: 1 } });
      await scene.store.delete(last(scene.store.all()).key);
      await scene.send("six");
      await untilKept(scene, 9);
      equal(textOf(last(scene.kept)), "six");
    },
  ],
  [
    "its 410 for a lease that it takes for ended rejects the subscription and loses nothing",
    async (scene) => {
      await scene.store.update(last(scene.store.all()).key, { refreshBefore: new Date(0).toISOString() });
      await scene.send("seven");
      await untilAnswered(scene, 410);
      await eventually("the subscription is rejected", () => stateOf(scene), "rejected");
      await rejects(refresh(scene), { code: -32015, data: { reason: "http_4xx" } });
      equal(await stateOf(scene), "rejected");
      equal(await unreadOf(scene), 1);
      await scene.own((client) => client.call("revoke_event_subscription"));
      await refresh(scene);
      await untilKept(scene, 10);
      equal(textOf(last(scene.kept)), "seven");
    },
  ],
  [
    "the client unsubscribes, and what comes afterwards waits in the inbox",
    async (scene) => {
      await scene.client.experimental_events.unsubscribe({ id: last(scene.store.all()).id ?? "" });
      equal(await stateOf(scene), "none");
      deepEqual(scene.store.all(), []);
      await scene.send("eight");
      await eventually("the message is in the inbox", () => unreadOf(scene), 1);
      equal(scene.kept.length, 10);
    },
  ],
];

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

let passed = 0;
await interruptible(async (cleanUp) => {
  const scene = await ReceiverScene.open(cleanUp);
  for (const [title, run] of steps) {
    try {
      await run(scene);
    } catch (error) {
      say(`FAILED  ${title}: ${wordsOf(error)}`);
      const answers = scene.receiver.exchanges.map(({ kind, status }) => `${kind} ${status}`);
      say(`        so far the receiver answered: ${answers.join(", ") || "nothing"}`);
      return;
    }
    passed += 1;
    say(`passed  ${title}`);
  }
});
say(`receivers: ${passed} of ${steps.length} passed`);
process.exitCode = passed === steps.length ? 0 : 1;
