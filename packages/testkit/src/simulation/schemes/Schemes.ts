// All schemes by name. A run may draw one of them for its liars.

import type { Deed, Liars } from "../Liars.ts";
import { leading } from "./Leading.ts";
import { oldWords } from "./OldWords.ts";
import { othersNames } from "./OthersNames.ts";
import { revivals } from "./Revivals.ts";
import { strangeAnchors } from "./StrangeAnchors.ts";

export const schemes = {
  "others-names": othersNames,
  "strange-anchors": strangeAnchors,
  leading,
  revivals,
  "old-words": oldWords,
} as const satisfies { readonly [name: string]: (liars: Liars) => ReadonlyArray<Deed> };

export type SchemeName = keyof typeof schemes;
export const schemeNames = Object.keys(schemes) as ReadonlyArray<SchemeName>;
