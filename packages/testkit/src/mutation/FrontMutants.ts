// Bugs of the endpoint's front: registrations that are forgotten, told too early or not at all, failures that say too much,
// and words that a host would cut.

import { files, type SurfaceMutant } from "./SurfaceMutant.ts";

const agentLife = "packages/endpoint/src/operations/AgentLife.ts";
const registration = "packages/endpoint/src/operations/Registration.ts";
const call = "packages/endpoint/src/mcp/Call.ts";
const failures = "packages/endpoint/src/mcp/Failures.ts";
const server = "packages/endpoint/src/mcp/McpServer.ts";
const protocolServer = "packages/endpoint/src/mcp/ProtocolServer.ts";
const tool = "packages/endpoint/src/mcp/Tool.ts";

const registrationMutants: ReadonlyArray<SurfaceMutant> = [
  {
    name: "signing-before-the-deadline",
    why: "A deadline that begins after signing is longer than it says.",
    edits: [
      {
        file: registration,
        text: "registry.register(request, credential ?? null, { deadline })",
        replacement:
          "registry.register(request, credential ?? null, { deadlineMs: deadline.aborted ? 1 : Limits.registryDeadlineMs })",
      },
    ],
    test: { file: files.agentLife, title: "the thirty seconds include signing" },
  },
  {
    name: "registration-without-deadline",
    why: "A Registry that never answers must not hold a host's call for ever.",
    edits: [
      {
        file: registration,
        text: "AbortSignal.timeout(Limits.registryDeadlineMs)",
        replacement: "AbortSignal.timeout(Limits.registryDeadlineMs * 2)",
      },
    ],
    test: { file: files.agentLife, title: "the thirty seconds include signing" },
  },
  {
    name: "answer-not-bound",
    why: "A card that is not written down before it is shown is forgotten by the next start.",
    edits: [
      {
        file: registration,
        text: 'db.transaction(() => db.run("UPDATE registration SET agent_card = ? WHERE one = 1", encoded));',
        replacement: "void encoded;",
      },
    ],
    test: { file: files.agentLife, title: "status shows the exact card while the protocol comes up" },
  },
  {
    name: "bound-takes-any-input",
    why: "Somebody who asked for another name must not believe that it was given.",
    edits: [
      {
        file: registration,
        text: 'return isSame ? null : "idempotency_conflict";',
        replacement: "return isSame ? null : null;",
      },
    ],
    test: { file: files.agentLife, title: "what is bound stays" },
  },
  {
    name: "status-after-activation",
    why: "A host that cannot see its card registers again.",
    edits: [
      {
        file: agentLife,
        text: 'return agentCard === null ? { kind: "unregistered" }',
        replacement: 'return agentCard === null || agent === null ? { kind: "unregistered" }',
      },
    ],
    test: { file: files.agentLife, title: "status shows the exact card while the protocol comes up" },
  },
  {
    name: "register-answers-early",
    why: "An answer that comes before the tools do sends the host to a catalog without them.",
    edits: [
      {
        file: agentLife,
        text: 'if (result.kind === "registered") await activate(result.agentCard);',
        replacement:
          'if (result.kind === "registered") void activate(result.agentCard).catch(() => undefined);',
      },
    ],
    test: { file: files.agentLife, title: "status shows the exact card while the protocol comes up" },
  },
  {
    name: "tools-before-the-protocol",
    why: "A tool that is listed before it can work fails whoever is quick.",
    edits: [
      {
        file: "packages/endpoint/src/Endpoint.ts",
        text: "isRegistered: () => life.agent() !== null",
        replacement: 'isRegistered: () => life.status().kind === "active"',
      },
    ],
    test: { file: files.activation, title: "a whole endpoint shows its card" },
  },
  {
    name: "cancelled-register-stops",
    why: "What the Registry has registered is this agent, whoever waited for it.",
    edits: [
      {
        file: protocolServer,
        text: "server.fallbackRequestHandler = ({ params }) => call(params, asker);",
        replacement:
          'server.fallbackRequestHandler = ({ params }, { mcpReq }) => {\n        if (String(params?.["name"]) === "register") Object.assign(globalThis, { asked: mcpReq.signal });\n        return call(params, asker);\n      };',
      },
      {
        file: agentLife,
        text: 'if (result.kind === "registered") await activate(result.agentCard);',
        replacement:
          'const { asked } = globalThis as { asked?: AbortSignal };\n      if (result.kind === "registered" && asked?.aborted !== true) await activate(result.agentCard);',
      },
    ],
    test: { file: files.agentLife, title: "a cancelled register is bound and activated" },
  },
  {
    name: "activation-told-twice",
    why: "Each notice makes every host list its tools again.",
    edits: [
      {
        file: agentLife,
        text: "    options.onActivated();",
        replacement: "    options.onActivated();\n    options.onActivated();",
      },
    ],
    test: { file: files.agentLife, title: "status shows the exact card while the protocol comes up" },
  },
  {
    name: "activation-not-told",
    why: "A host that listens need not ask.",
    edits: [
      {
        file: server,
        text: "for (const handler of handlers.values()) handler.notify.toolsChanged();",
        replacement: "",
      },
    ],
    test: { file: files.catalog, title: "list-changed goes to those who listen" },
  },
  {
    name: "activation-told-to-everybody",
    why: "Who has not asked to hear of tools does not know what to do with the notice.",
    edits: [
      {
        file: server,
        text: "await handlerFor(caller).fetch(request, { parsedBody: body })",
        replacement:
          'await handlerFor(caller).fetch(request, { parsedBody: JSON.parse(JSON.stringify(body).replace("promptsListChanged", "toolsListChanged")) })',
      },
    ],
    test: { file: files.agentLife, title: "status shows the exact card while the protocol comes up" },
  },
  {
    name: "refusal-told-as-change",
    why: "A name that was taken changes no catalog.",
    edits: [
      {
        file: agentLife,
        text: "      return result;\n    });",
        replacement:
          '      if (result.kind !== "registered") options.onActivated();\n      return result;\n    });',
      },
    ],
    test: { file: files.agentLife, title: "a registration that is refused changes no catalog" },
  },
  {
    name: "activation-not-tried-again",
    why: "A disk that was full for a moment must not leave an agent without its tools.",
    edits: [
      {
        file: agentLife,
        text: "if (agent !== null) return;",
        replacement: "if (agent !== null || started) return;\n    started = true;",
      },
      {
        file: agentLife,
        text: "let agent: Agent | null = null;",
        replacement: "let agent: Agent | null = null;\n  let started = false;",
      },
    ],
    test: { file: files.agentLife, title: "an activation that fails leaves the agent bound" },
  },
  {
    name: "search-outlives-its-deadline",
    why: "A search is held to the same thirty seconds.",
    edits: [
      {
        file: "packages/endpoint/src/operations/SearchAgents.ts",
        text: "deadlineMs: Limits.registryDeadlineMs",
        replacement: "deadlineMs: Limits.registryDeadlineMs * 2",
      },
    ],
    test: { file: files.registration, title: "does not wait for a silent Registry for ever" },
  },
];

const failureMutants: ReadonlyArray<SurfaceMutant> = [
  {
    name: "unknown-tool-differs",
    why: "Who may not see a tool must not learn that it is there.",
    edits: [
      {
        file: call,
        text: '"Unknown tool."',
        replacement:
          'Catalog.toolsOf(caller, !isRegistered).some(({ face }) => face.name === name) ? "Not now." : "Unknown tool."',
      },
    ],
    test: { file: files.catalog, title: "a tool of the other state is as unknown" },
  },
  {
    name: "value-echoed-in-an-issue",
    why: "What was submitted may be a secret, and an issue is written to logs.",
    edits: [
      {
        file: tool,
        text: "throw invalidParams(diagnosis.issues.map(told));",
        replacement:
          "throw invalidParams(diagnosis.issues.map((issue) => ({ ...issue, message: `${issue.message}, got ${JSON.stringify(args)}` })));",
      },
    ],
    test: { file: files.malformedCalls, title: "malformed arguments are named with their path" },
  },
  {
    name: "twenty-one-diagnostics",
    why: "The number of diagnostics is part of the contract.",
    edits: [
      {
        file: "packages/protocol/src/encoding/Diagnosis.ts",
        text: "result.issues.slice(0, Limits.validationIssuesMax)",
        replacement: "result.issues.slice(0, Limits.validationIssuesMax + 1)",
      },
    ],
    test: { file: files.diagnostics, title: "twenty-one are twenty" },
  },
  {
    name: "reason-with-details",
    why: "Data of a failure is exactly its reason.",
    edits: [
      {
        file: failures,
        text: "codes.internalError, words, { reason })",
        replacement: "codes.internalError, words, { reason, detail: error.message })",
      },
    ],
    test: { file: files.failures, title: "every reason of an operation crosses as itself" },
  },
  {
    name: "defect-told-to-the-caller",
    why: "A defect's own words may hold a path, a statement or a key.",
    edits: [
      {
        file: call,
        text: "if (expected === null) return Defect.report(unexpectedly, error, options, name);",
        replacement: "if (expected === null) return error as McpError;",
      },
    ],
    test: { file: files.failures, title: "a defect tells its caller nothing" },
  },
  {
    name: "arms-mixed",
    why: "A request that names two things at once is not guessed at.",
    edits: [
      {
        file: "packages/endpoint/src/mcp/tools/ReadConversation.ts",
        text: 'Tool.names(args, "continuation") ? next(args)',
        replacement:
          'Tool.names(args, "continuation") ? next({ continuation: (args as { continuation: unknown }).continuation })',
      },
    ],
    test: { file: files.malformedCalls, title: "an address and a continuation together" },
  },
];

const wordMutants: ReadonlyArray<SurfaceMutant> = [
  {
    name: "instructions-cut",
    why: "A host that cuts the instructions leaves out how they end.",
    edits: [
      {
        file: "packages/endpoint/src/mcp/Instructions.ts",
        text: 'list the tools again or reconnect.";',
        replacement: 'list the tools again or reconnect.".repeat(50);',
      },
    ],
    test: { file: files.words, title: "no host has to cut" },
  },
  {
    name: "lookaround-in-a-pattern",
    why: "Some hosts compile patterns with an engine that has none, and drop the tool.",
    edits: [
      {
        file: "packages/endpoint/src/mcp/JsonSchema.ts",
        text: 'matching("^[a-z0-9]+(-[a-z0-9]+)*$", description)',
        replacement: 'matching("^(?=.{3,32}$)[a-z0-9]+(-[a-z0-9]+)*$", description)',
      },
    ],
    test: { file: files.words, title: "schemas have no reference" },
  },
  {
    name: "result-undeclared",
    why: "A client that checks results refuses a field that its schema does not have.",
    edits: [
      {
        file: "packages/endpoint/src/mcp/tools/ReadConversation.ts",
        text: "  durabilityAnchor: {",
        replacement: "  durabilityAnchors: {",
      },
      {
        file: "packages/endpoint/src/mcp/tools/ReadConversation.ts",
        text: '"durabilityAnchor",',
        replacement: "",
      },
    ],
    test: { file: files.outputSchemas, title: "pages of real records fit their schema" },
  },
  {
    name: "case-twins",
    why: "Two names that differ in case are one to whoever reads them.",
    edits: [
      {
        file: "packages/protocol/src/identity/AgentName.ts",
        text: "[a-z0-9]+(-[a-z0-9]+)*$/;",
        replacement: "[a-z0-9]+(-[a-z0-9]+)*$/i;",
      },
    ],
    test: { file: files.lookAlikes, title: "no look-alike of a name is registered" },
  },
];

export const frontMutants: ReadonlyArray<SurfaceMutant> = [
  ...registrationMutants,
  ...failureMutants,
  ...wordMutants,
  {
    name: "uncounted-never-again",
    why: "After one failure of its store a host would not hear of what waits until something more arrives.",
    edits: [
      {
        file: "packages/endpoint/src/mcp/PendingStream.ts",
        text: "due.event ||= isOwed;",
        replacement: "",
      },
    ],
    test: { file: files.pendingStream, title: "an inbox that cannot be counted" },
  },
];
