// What the Registry's log holds beside the log's own tables: nothing yet. A later program that writes entries which this one
// cannot read adds a version to this component, and this one then leaves the file alone.

export const component = "registry";

/** For whoever opens the Registry's log. */
export const known: Readonly<Record<string, number>> = { [component]: 0 };
