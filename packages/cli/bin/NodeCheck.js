// Says that this Node is older than the command needs, or has no SQLite, before anything is loaded that such a Node cannot
// read. The single file begins with this very text: it imports nothing, and keeps to what Node 16 understands.
// Implements RUN-247.

{
  // What stands behind this in the single file may give the name to something else.
  const { process } = globalThis;
  const isOld = Number(process.versions.node.split(".")[0]) < 24;
  // Node can be built without its SQLite, and a flag of NODE_OPTIONS takes it away.
  if (isOld || !process.getBuiltinModule("node:module").isBuiltin("node:sqlite")) {
    const [reason, message, next] = isOld
      ? [
          "node-too-old",
          `social-harness needs Node 24 or newer, and this is ${process.version}`,
          "install a newer one from https://nodejs.org",
        ]
      : [
          "node-without-sqlite",
          "social-harness needs the SQLite that Node has, and this Node was built or started without it",
          "take --no-experimental-sqlite out of NODE_OPTIONS, or install Node from https://nodejs.org",
        ];
    const line = process.argv.includes("--json")
      ? JSON.stringify({ error: { reason, message, next } })
      : `error: ${message}: ${next}`;
    // It ends once that is written. Nothing that stands behind this is run.
    await new Promise(() => process.stderr.write(`${line}\n`, () => process.exit(2)));
  }
}
