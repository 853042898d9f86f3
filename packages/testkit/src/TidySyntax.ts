// What tidy needs to know about one TypeScript source: its imports, and the names it uses, each with its line.
// Owns the walk over the syntax tree and judges nothing; the rules do.

import { parseSync } from "vite";

/** One way in which a file names another module. */
export interface Import {
  readonly specifier: string;
  /** Imported names; empty for a namespace, a side effect, a dynamic import or a URL. */
  readonly names: ReadonlyArray<string>;
  /** Started from its source as a process or a worker of its own, through `new URL(..., import.meta.url)`. */
  readonly started: boolean;
  readonly line: number;
}

/** A use of a name: `Date.now` (member), `setTimeout()` (call), `new Date()` (no argument), `as any`, `expect() alone`. */
export interface Use {
  readonly name: string;
  readonly line: number;
  /** The first argument of a call: its text, "(computed)" when it is no literal, null when there is none. */
  readonly argument: string | null;
}

/** A call of `verifies`, with the clause ids that stand in it as literals. */
export interface Citation {
  readonly ids: ReadonlyArray<string>;
  readonly line: number;
}

export interface Syntax {
  readonly imports: ReadonlyArray<Import>;
  readonly uses: ReadonlyArray<Use>;
  readonly citations: ReadonlyArray<Citation>;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";

const nodes = (value: unknown): ReadonlyArray<Node> => (Array.isArray(value) ? value.filter(isNode) : []);

/** The literal text of a string or of a template without a hole. */
const textOf = (value: unknown): string | null => {
  if (!isNode(value)) return null;
  if (value.type === "Literal") return typeof value["value"] === "string" ? value["value"] : null;
  if (value.type !== "TemplateLiteral") return null;
  const [only, ...more] = nodes(value["quasis"]);
  return only === undefined || more.length > 0 ? null : (only["value"] as { readonly cooked: string }).cooked;
};

/** `a.b.c` for an expression made of plain names, else null. */
const dotted = (value: unknown): string | null => {
  if (!isNode(value)) return null;
  if (value.type === "Identifier") return value["name"] as string;
  if (value.type === "MetaProperty") return "import.meta";
  if (value.type !== "MemberExpression") return null;
  const object = dotted(value["object"]);
  const property = value["computed"] === true ? textOf(value["property"]) : dotted(value["property"]);
  return object === null || property === null ? null : `${object}.${property}`;
};

const isCallOf = (value: unknown, name: string): boolean =>
  isNode(value) && value.type === "CallExpression" && dotted(value["callee"]) === name;

const lineFinder = (text: string): ((offset: number) => number) => {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => starts.findLastIndex((start) => start <= offset) + 1;
};

const importedNames = (node: Node): ReadonlyArray<string> =>
  nodes(node["specifiers"]).flatMap((specifier) => {
    const imported = specifier["imported"] ?? specifier["local"];
    const named = specifier.type === "ImportSpecifier" || specifier.type === "ExportSpecifier";
    return named && isNode(imported) ? [(imported["name"] ?? imported["value"]) as string] : [];
  });

class Walk {
  readonly imports: Array<Import> = [];
  readonly uses: Array<Use> = [];
  readonly citations: Array<Citation> = [];
  readonly #lineAt: (offset: number) => number;

  constructor(text: string) {
    this.#lineAt = lineFinder(text);
  }

  visit(node: Node): void {
    this.#note(node);
    for (const value of Object.values(node)) {
      if (Array.isArray(value)) for (const child of nodes(value)) this.visit(child);
      else if (isNode(value)) this.visit(value);
    }
  }

  #note(node: Node): void {
    const line = this.#lineAt(node.start);
    switch (node.type) {
      case "ImportDeclaration":
      case "ExportAllDeclaration":
      case "ExportNamedDeclaration":
      case "ImportExpression":
      case "TSImportType": {
        const specifier = textOf(node["source"] ?? node["argument"]);
        if (specifier !== null)
          this.imports.push({ specifier, names: importedNames(node), started: false, line });
        return;
      }
      case "MemberExpression": {
        const name = dotted(node);
        if (name !== null) this.uses.push({ name, line, argument: null });
        return;
      }
      case "TSAsExpression":
        if ((node["typeAnnotation"] as Node).type === "TSAnyKeyword") {
          this.uses.push({ name: "as any", line, argument: null });
        }
        return;
      case "ExpressionStatement":
        if (isCallOf(node["expression"], "expect")) {
          this.uses.push({ name: "expect() alone", line, argument: null });
        }
        return;
      case "NewExpression":
        this.#noteNew(node, line);
        return;
      case "CallExpression":
        this.#noteCall(node, line);
    }
  }

  #noteNew(node: Node, line: number): void {
    const name = dotted(node["callee"]);
    const args = nodes(node["arguments"]);
    if (name !== null && args.length === 0) this.uses.push({ name: `new ${name}()`, line, argument: null });
    const specifier = textOf(args[0]);
    if (name === "URL" && specifier?.endsWith(".ts") === true && dotted(args[1]) === "import.meta.url") {
      this.imports.push({ specifier, names: [], started: true, line });
    }
  }

  #noteCall(node: Node, line: number): void {
    const name = dotted(node["callee"]);
    if (name === null) return;
    const args = nodes(node["arguments"]);
    this.uses.push({
      name: `${name}()`,
      line,
      argument: args.length === 0 ? null : (textOf(args[0]) ?? "(computed)"),
    });
    if (name !== "verifies" && !name.startsWith("verifies.")) return;
    const first = args[0];
    const listed = first?.type === "ArrayExpression" ? nodes(first["elements"]) : [first];
    this.citations.push({ ids: listed.map((element) => textOf(element) ?? "(not a literal)"), line });
  }
}

/** Parses one source. Throws where the parser does: a file that does not parse is nobody's rule to judge. */
export const read = (path: string, text: string): Syntax => {
  const parsed = parseSync(path, text, { lang: "ts", sourceType: "module" });
  const problem = parsed.errors[0];
  if (problem !== undefined) throw new SyntaxError(`${path}: ${problem.message}`);
  const walk = new Walk(text);
  walk.visit(parsed.program as unknown as Node);
  return { imports: walk.imports, uses: walk.uses, citations: walk.citations };
};
