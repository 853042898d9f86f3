// The version of the endpoint, as its package names it: what MCP clients see, what endpoint.json says and backups carry.

import manifest from "../package.json" with { type: "json" };

export const version: string = manifest.version;
