// Where a stranger's HTTPS endpoint is, in the one form in which this endpoint takes it. Says why a text is none; never
// repeats it.

import type * as Brand from "effect/Brand";

export type CallbackUrl = string & Brand.Brand<"CallbackUrl">;

export interface CallbackUrlProblem {
  readonly problem: "malformed" | "not-https" | "user-info" | "fragment";
}

/** `https:`, no user information, no fragment. */
export const parse = (text: string): CallbackUrl | CallbackUrlProblem => {
  if (!URL.canParse(text)) return { problem: "malformed" };
  const { protocol, username, password, href } = new URL(text);
  if (protocol !== "https:") return { problem: "not-https" };
  if (username !== "" || password !== "") return { problem: "user-info" };
  return href.includes("#") ? { problem: "fragment" } : (href as CallbackUrl);
};
