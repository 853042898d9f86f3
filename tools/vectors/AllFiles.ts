// Every file under vectors/ that the writer owns, family by family.

import * as Addresses from "./Addresses.ts";
import * as CanonicalJson from "./CanonicalJson.ts";
import * as Cards from "./Cards.ts";
import type { Files } from "./Family.ts";
import * as Hashes from "./Hashes.ts";
import * as Identifiers from "./Identifiers.ts";
import * as Signatures from "./Signatures.ts";

const families = [Identifiers, Addresses, CanonicalJson, Hashes, Signatures, Cards];

export const allFiles = (): Files => new Map(families.flatMap((family) => [...family.files()]));
