import { openMemoryLog } from "@social-harness/log/MemoryLog";
import { logSuite } from "./suite.ts";

logSuite({ name: "memory", open: async () => openMemoryLog() });
