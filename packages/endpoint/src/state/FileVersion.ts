// The version that a JSON file says it has, read before its shape is: a later version may have any other shape, and is no
// damage. Knows no file's meaning.

/** The whole number in `version` of a file of this kind, or null where the text is none. */
export const of = (text: string, kind: string): number | null => {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof file !== "object" || file === null) return null;
  const { kind: found, version } = file as { readonly kind?: unknown; readonly version?: unknown };
  return found === kind && Number.isSafeInteger(version) ? (version as number) : null;
};
