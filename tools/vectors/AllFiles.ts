// Every file under vectors/ that the writer owns, family by family.

import * as Addresses from "./Addresses.ts";
import * as CanonicalJson from "./CanonicalJson.ts";
import * as Cards from "./Cards.ts";
import * as Exports from "./Exports.ts";
import type { Files } from "./Family.ts";
import * as Hashes from "./Hashes.ts";
import * as Identifiers from "./Identifiers.ts";
import * as Packets from "./Packets.ts";
import * as Reanchors from "./Reanchors.ts";
import * as Records from "./Records.ts";
import * as RoundRecords from "./RoundRecords.ts";
import * as Signatures from "./Signatures.ts";
import * as Statements from "./Statements.ts";
import * as Voids from "./Voids.ts";

const families = [
  Identifiers,
  Addresses,
  CanonicalJson,
  Hashes,
  Signatures,
  Cards,
  Statements,
  Records,
  Reanchors,
  RoundRecords,
  Voids,
  Packets,
  Exports,
];

export const allFiles = (): Files => new Map(families.flatMap((family) => [...family.files()]));
