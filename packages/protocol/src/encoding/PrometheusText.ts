// Measurements as one page of the Prometheus text format, version 0.0.4. Pure: whoever counts owns the numbers. Names and
// labels are words of the code and never of a user, so only what the format demands is checked or escaped.

export const mediaType = "text/plain; version=0.0.4; charset=utf-8";

export interface Sample {
  /** Behind the family's name: a histogram's parts have their own. */
  readonly suffix?: "_bucket" | "_sum" | "_count";
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  /** One sentence, with the unit. */
  readonly help: string;
  readonly samples: ReadonlyArray<Sample>;
}

export const single = (type: "counter" | "gauge", name: string, help: string, value: number): Family => ({
  name,
  type,
  help,
  samples: [{ value }],
});

/** A counter for each value of a closed set of words. */
export const counterBy = (
  name: string,
  help: string,
  label: string,
  counts: ReadonlyMap<string, number>,
): Family => ({
  name,
  type: "counter",
  help,
  samples: [...counts].map(([word, value]) => ({ labels: { [label]: word }, value })),
});

const escaped = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');

const numberOf = (value: number): string => {
  if (Number.isNaN(value)) return "NaN";
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? "+Inf" : "-Inf";
};

const lineOf = (name: string, { suffix, labels = {}, value }: Sample): string => {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${suffix ?? ""}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${numberOf(value)}\n`;
};

export const encode = (families: ReadonlyArray<Family>): string =>
  families
    .map(({ name, type, help, samples }) => {
      const head = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
      return head + samples.map((sample) => lineOf(name, sample)).join("");
    })
    .join("");
