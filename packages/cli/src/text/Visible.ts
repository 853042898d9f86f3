// Text of other people on this terminal: what could move the cursor, change colours, reorder letters or pass for a line of
// our own is shown as an escape. Only for people; JSON output carries the exact text.

/**
 * C0 and C1 controls but tab and line feed, what reorders its neighbours, and what nobody sees: soft hyphens, spaces without
 * width, tag letters. Joiners and direction marks belong to real writing.
 */
const unsafe =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

const escapeOf = (character: string): string => `\\u{${(character.codePointAt(0) as number).toString(16)}}`;

export const visible = (text: string): string => text.replaceAll(unsafe, escapeOf);

/** One line: line feeds and tabs are escaped too, and a long text is cut. */
export const oneLine = (text: string, charactersMax = 100): string => {
  const flat = visible(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
  const characters = [...flat];
  return characters.length <= charactersMax ? flat : `${characters.slice(0, charactersMax - 1).join("")}…`;
};

/** Every line behind the margin, so that no text can start a line that looks like ours. */
export const indented = (text: string, margin = "    "): string =>
  visible(text)
    .split("\n")
    .map((line) => margin + line)
    .join("\n");
