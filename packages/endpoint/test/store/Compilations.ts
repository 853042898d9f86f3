// Notes which statements SQLite prepares anew while they run: it asks an authorizer about each statement that it prepares.

import { constants, DatabaseSync } from "node:sqlite";

/** What prepares on purpose. */
const preparing = ["prepare", "exec"] as const;
const running = ["run", "get", "all"] as const;

export interface Compilations {
  /** The texts of the statements that were prepared anew since the last call, each once. */
  readonly take: () => ReadonlyArray<string>;
}

/** Watches every database of this process that is opened from here on. */
export const watch = (): Compilations => {
  const watched = new WeakSet<DatabaseSync>();
  const anew = new Set<string>();
  let isPreparing = false;
  let text = "";
  const authorize = (): number => {
    if (!isPreparing) anew.add(text);
    return constants.SQLITE_OK;
  };
  const inPlace = <A>(database: DatabaseSync, work: () => A): A => {
    if (!watched.has(database)) database.setAuthorizer(authorize);
    watched.add(database);
    isPreparing = true;
    try {
      return work();
    } finally {
      isPreparing = false;
    }
  };
  for (const name of preparing) {
    const original = DatabaseSync.prototype[name] as (sql: string) => ReturnType<DatabaseSync["prepare"]>;
    const wrapped = function (this: DatabaseSync, sql: string): ReturnType<DatabaseSync["prepare"]> {
      const statement = inPlace(this, () => original.call(this, sql));
      if (statement === undefined) return statement;
      for (const run of running) {
        const bare = statement[run].bind(statement) as (...values: ReadonlyArray<never>) => never;
        statement[run] = (...values: ReadonlyArray<never>) => {
          text = sql.replaceAll(/\s+/g, " ");
          return bare(...values);
        };
      }
      return statement;
    };
    DatabaseSync.prototype[name] = wrapped as never;
  }
  return {
    take: () => {
      const texts = [...anew];
      anew.clear();
      return texts;
    },
  };
};
