// The version of the command, as its package names it.

import manifest from "../package.json" with { type: "json" };

export const version: string = manifest.version;
