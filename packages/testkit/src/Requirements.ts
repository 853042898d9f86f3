// The bridge between docs/spec and the tests: which clauses stand on the pages, which tests cite them, and what is wrong
// between the two. Pure: takes pages and sources as text, judges, and prints nothing.

import type { SourceFile, Tree } from "./TidyTree.ts";

/** One page of docs/spec. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

export interface Clause {
  readonly id: string;
  /** Promised and not yet proven by a test. */
  readonly gap: boolean;
  readonly sentence: string;
  readonly path: string;
  readonly line: number;
}

export interface Citation {
  readonly id: string;
  readonly path: string;
  readonly line: number;
}

export interface Requirements {
  readonly clauses: ReadonlyArray<Clause>;
  readonly citations: ReadonlyArray<Citation>;
}

/** The pages on which the clauses of a prefix may stand. */
const pagesOf: Readonly<Record<string, ReadonlyArray<string>>> = {
  FND: ["foundations.md"],
  IDN: ["registry.md", "identity.md"],
  HIS: ["history.md"],
  RTR: ["router.md", "log.md"],
  OPS: ["operations.md"],
  ING: ["ingress.md"],
  MGT: ["management.md"],
  RUN: ["running.md"],
  HST: ["hosts.md"],
};

export const pagesIn = ({ texts }: Tree): ReadonlyArray<Page> =>
  texts.filter(({ path }) => /^docs\/spec\/[^/]+\.md$/.test(path));

const clauseLine = /^- \*\*([A-Z]{3}-\d+)\*\* (\(gap\) )?(\S.*)$/;
/** A list line that opens in bold is meant as a clause, so a misspelt one is an error and not prose. */
const meantAsClause = /^\s*[-*] \*\*[A-Za-z]{2,4}[-–_ ]?\d/;

export const clausesOf = (page: Page): ReadonlyArray<Clause> =>
  page.text.split("\n").flatMap((text, index): ReadonlyArray<Clause> => {
    const match = clauseLine.exec(text);
    if (match === null) return [];
    const [, id, gap, sentence] = match as unknown as [string, string, string | undefined, string];
    return [{ id, gap: gap !== undefined, sentence, path: page.path, line: index + 1 }];
  });

const citationsOf = (file: SourceFile): ReadonlyArray<Citation> =>
  file.role !== "test"
    ? []
    : file.citations.flatMap(({ ids, line }) => ids.map((id) => ({ id, path: file.path, line })));

export const gather = (pages: ReadonlyArray<Page>, sources: ReadonlyArray<SourceFile>): Requirements => ({
  clauses: pages.flatMap(clausesOf),
  citations: sources.flatMap(citationsOf),
});

/** Lines that look like a clause and do not read as one. */
const misspelt = (page: Page): ReadonlyArray<string> =>
  page.text
    .split("\n")
    .flatMap((text, index) =>
      meantAsClause.test(text) && !clauseLine.test(text)
        ? [
            `${page.path}:${index + 1} a clause is one line: "- **ABC-12** sentence" or "- **ABC-12** (gap) sentence"`,
          ]
        : [],
    );

const at = ({ path, line }: { readonly path: string; readonly line: number }): string => `${path}:${line}`;

const judgeClauses = ({ clauses, citations }: Requirements): ReadonlyArray<string> => {
  const cited = new Map(citations.map((citation) => [citation.id, citation]));
  const first = new Map<string, Clause>();
  return clauses.flatMap((clause) => {
    const { id, gap, path } = clause;
    const problems: Array<string> = [];
    const earlier = first.get(id);
    if (earlier === undefined) first.set(id, clause);
    else problems.push(`${at(clause)} ${id} is already defined at ${at(earlier)}`);
    const homes = pagesOf[id.slice(0, 3)] ?? [];
    const page = path.slice(path.lastIndexOf("/") + 1);
    if (!homes.includes(page))
      problems.push(`${at(clause)} ${id} belongs on ${homes.join(" or ") || "no page"}`);
    const citation = cited.get(id);
    if (!gap && citation === undefined) {
      problems.push(`${at(clause)} ${id} is cited by no test; write one, or mark the clause (gap)`);
    }
    if (gap && citation !== undefined) {
      problems.push(
        `${at(clause)} ${id} is cited at ${at(citation)}; the gap has healed, remove its mark (gap)`,
      );
    }
    return problems;
  });
};

const judgeCitations = ({ clauses, citations }: Requirements): ReadonlyArray<string> => {
  const known = new Set(clauses.map(({ id }) => id));
  return citations
    .filter(({ id }) => !known.has(id))
    .map((citation) => `${at(citation)} cites ${citation.id}, which no page of docs/spec defines`);
};

const mention = /\b(?:FND|IDN|HIS|RTR|OPS|ING|MGT|RUN|HST)-\d+\b/g;

/** A comment that names a clause sends its reader to a page; the clause has to stand there. */
const judgeMentions = (
  { clauses }: Requirements,
  sources: ReadonlyArray<SourceFile>,
): ReadonlyArray<string> => {
  const known = new Set(clauses.map(({ id }) => id));
  return sources
    .filter(({ role }) => role !== "test")
    .flatMap(({ path, text }) =>
      text
        .split("\n")
        .flatMap((line, index) =>
          (line.match(mention) ?? [])
            .filter((id) => !known.has(id))
            .map((id) => `${path}:${index + 1} mentions ${id}, which no page of docs/spec defines`),
        ),
    );
};

/** Everything that is wrong between the pages and the tests, one readable line each. */
export const check = (
  pages: ReadonlyArray<Page>,
  sources: ReadonlyArray<SourceFile>,
): ReadonlyArray<string> => {
  const requirements = gather(pages, sources);
  return [
    ...pages.flatMap(misspelt),
    ...judgeClauses(requirements),
    ...judgeCitations(requirements),
    ...judgeMentions(requirements, sources),
  ];
};

/** The table of `npm run requirements`: each clause with the number of tests that cite it, and the totals. */
export const table = ({ clauses, citations }: Requirements): string => {
  const rows = clauses.map(({ id, gap, sentence }) => {
    const count = citations.filter((citation) => citation.id === id).length;
    return `${id.padEnd(7)} ${(gap ? "gap" : String(count)).padStart(4)}  ${sentence}`;
  });
  const gaps = clauses.filter(({ gap }) => gap).length;
  const proven = clauses.length - gaps;
  return [...rows, "", `${clauses.length} clauses, ${proven} proven, ${gaps} known gaps`].join("\n");
};
