// What a person hears of who has the daemon before him.

import { expect } from "vitest";
import * as Events from "@social-harness/endpoint/firewall/Events";
import { verifies } from "@social-harness/testkit/Verifies";
import { noticeOf } from "../../src/daemon/Notices.ts";

verifies("ING-226", "a hold is told with its id, its reason and the command that shows it", () => {
  expect([
    noticeOf("info", Events.held, { hold: "hld_x", reason: "rule", rule: 2 }),
    noticeOf("info", Events.held, { hold: "hld_x", reason: "rules-unreadable" }),
    noticeOf("warn", Events.held, { hold: "hld_x", reason: "check-failed", explanation: "No." }),
  ]).toEqual([
    "a message is held by the firewall (rule 2): `social-harness hold show hld_x`",
    "a message is held by the firewall (rules-unreadable): `social-harness hold show hld_x`",
    "a message is held by the firewall (check-failed): `social-harness hold show hld_x`: No.",
  ]);
});

verifies("ING-226", "trouble is told with its explanation and that it is over too, and nothing else", () => {
  expect([
    noticeOf("error", "it broke", { explanation: "badly", code: 5 }),
    noticeOf("warn", "it may break"),
    noticeOf("info", Events.inForce),
    noticeOf("info", Events.gone, {}),
    noticeOf("info", "endpoint stopped"),
    noticeOf("info", "store checked", { records: 5 }),
  ]).toEqual(["it broke: badly", "it may break", Events.inForce, Events.gone, "endpoint stopped", null]);
});
