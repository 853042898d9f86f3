// How a service answers whoever supervises it, in one form for all of them: `/healthz` and a good `/readyz` say `ok`, and a
// `/readyz` with 503 says in one word what is the matter.

export const ok = { status: "ok" } as const;

export interface NotReady {
  readonly status: "not-ready";
  /** One of a few words of the program, for people and for programs. */
  readonly cause: string;
}
export type Standing = typeof ok | NotReady;

/** `cause` is null for a service that is ready. */
export const of = (cause: string | null): Standing => (cause === null ? ok : { status: "not-ready", cause });

export const codeOf = ({ status }: Standing): 200 | 503 => (status === "ok" ? 200 : 503);
