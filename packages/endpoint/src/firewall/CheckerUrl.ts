// Where a checker is that is asked over HTTP: anywhere under https, or on this machine without it. Names of this machine are not
// taken, since what they stand for can be changed; its addresses can not.

import * as CallbackUrl from "../callbacks/CallbackUrl.ts";

export type CheckerUrl =
  | { readonly kind: "https"; readonly url: CallbackUrl.CallbackUrl }
  | { readonly kind: "loopback"; readonly url: URL };

const isOwnAddress = (host: string): boolean => host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);

/** null for anything else. */
export const parse = (text: string): CheckerUrl | null => {
  if (!text.startsWith("http:")) {
    const url = CallbackUrl.parse(text);
    return typeof url === "string" ? { kind: "https", url } : null;
  }
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  const isBare = url.username === "" && url.password === "" && url.hash === "";
  return isBare && isOwnAddress(url.hostname) ? { kind: "loopback", url } : null;
};
