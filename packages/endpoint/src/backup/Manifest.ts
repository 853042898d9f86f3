// What a backup says of itself, in `backup.json`: its version, of whom it is, and the digest of each file. A backup whose
// files are not exactly these is damaged and is used for nothing. Implements RUN-182 and RUN-183.

import { createHash } from "node:crypto";
import { createReadStream, existsSync, statSync } from "node:fs";
import { join } from "node:path";
import * as Schema from "effect/Schema";
import * as CanonicalJson from "@social-harness/protocol/encoding/CanonicalJson";
import * as Closed from "@social-harness/protocol/encoding/Closed";
import { DecodeError } from "@social-harness/protocol/encoding/DecodeError";
import { Timestamp } from "@social-harness/protocol/identity/AgentCard";
import * as AgentName from "@social-harness/protocol/identity/AgentName";
import { Opaque32 } from "@social-harness/protocol/identity/Identifier";
import * as FileVersion from "../state/FileVersion.ts";
import * as PrivateFile from "../state/PrivateFile.ts";
import { codeOf, StateError } from "../state/StateError.ts";

/** What a backup has, as in the state folder; the first three are in every one. */
export const fileNames = [
  "identity.json",
  "config.json",
  "endpoint.sqlite",
  "registration.json",
  "firewall.json",
] as const;
export type FileName = (typeof fileNames)[number];
const required: ReadonlyArray<FileName> = fileNames.slice(0, 3);

const File = Schema.Struct({
  name: Schema.Literals(fileNames),
  bytes: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  sha256: Opaque32.schema,
});
export type File = typeof File.Type;

const kind = "backup";
const version = 1;

const contents = {
  kind: Schema.Literal(kind),
  version: Schema.Literal(version),
  /** Of the program that wrote it, for people. */
  program: Schema.String.check(Schema.isMaxLength(64)),
  createdAt: Timestamp,
  /** null before registration. */
  agentName: Schema.NullOr(AgentName.schema),
  files: Schema.Array(File).check(Schema.isMaxLength(fileNames.length)),
};

/** `digest`: SHA-256 over the canonical form of all the rest; it also names the backup. */
const schema = Schema.Struct({ ...contents, digest: Opaque32.schema });
export type Manifest = typeof schema.Type;

const bytesMax = 16_384;
const decode = Closed.bytesDecoder(schema, { bytesMax, depthMax: 4 });
const pathIn = (folder: string): string => join(folder, "backup.json");

const digestOf = (rest: Omit<Manifest, "digest">): Opaque32 =>
  Opaque32.fromBytes(createHash("sha256").update(CanonicalJson.encode(rest)).digest());

/** The file as it stands on the disk now. */
export const describe = async (folder: string, name: FileName): Promise<File> => {
  const path = join(folder, name);
  const digest = createHash("sha256");
  for await (const chunk of createReadStream(path)) digest.update(chunk as Uint8Array);
  return { name, bytes: statSync(path).size, sha256: Opaque32.fromBytes(digest.digest()) };
};

/** Writes the manifest; every file that it names is there by then. */
export const write = (
  folder: string,
  more: Pick<Manifest, "program" | "createdAt" | "agentName" | "files">,
): Manifest => {
  const rest = { kind, version, ...more } as const;
  const manifest = { ...rest, digest: digestOf(rest) };
  PrivateFile.createOnce(pathIn(folder), CanonicalJson.encode(manifest));
  return manifest;
};

const damaged = (folder: string, what: string): StateError =>
  new StateError(
    "malformed",
    `the backup ${folder} is damaged (${what})`,
    "take another one, this is left as it is",
  );

const decoded = (folder: string, text: string): Manifest => {
  const found = FileVersion.of(text, kind);
  if (found !== null && found !== version) {
    throw new StateError(
      "other-version",
      `the backup ${folder} has version ${found} and this program reads ${version}`,
      "restore it with the program that wrote it",
    );
  }
  let manifest: Manifest;
  try {
    manifest = decode(Buffer.from(text, "utf8"));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw damaged(folder, "backup.json");
  }
  const { digest, ...rest } = manifest;
  const names = new Set(rest.files.map(({ name }) => name));
  const isWhole =
    digest === digestOf(rest) &&
    names.size === rest.files.length &&
    required.every((name) => names.has(name));
  if (!isWhole) throw damaged(folder, "backup.json");
  return manifest;
};

/** Demands that the files in `folder` are those of `manifest`, byte for byte. */
export const demandFiles = async (folder: string, { files }: Manifest): Promise<void> => {
  for (const expected of files) {
    const path = join(folder, expected.name);
    let found: File;
    try {
      PrivateFile.checkPrivate(path);
      // A pipe would be waited for.
      if (!statSync(path).isFile()) throw damaged(folder, `${expected.name} is no file`);
      found = await describe(folder, expected.name);
    } catch (error) {
      if (codeOf(error) === "ENOENT") throw damaged(folder, `${expected.name} is missing`);
      throw error;
    }
    if (found.bytes !== expected.bytes || found.sha256 !== expected.sha256) {
      throw damaged(folder, expected.name);
    }
  }
};

/** The manifest of a backup whose every byte is as it was written. Throws `StateError`. */
export const read = async (folder: string): Promise<Manifest> => {
  const text = PrivateFile.read(pathIn(folder), bytesMax);
  if (text === null) {
    const what = existsSync(folder) ? "is no backup, there is no backup.json in it" : "does not exist";
    throw new StateError("missing", `${folder} ${what}`, "give the folder that `backup` wrote");
  }
  const manifest = decoded(folder, text);
  await demandFiles(folder, manifest);
  return manifest;
};
