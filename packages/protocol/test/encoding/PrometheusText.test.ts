import { verifies } from "@social-harness/testkit/Verifies";
import { expect } from "vitest";
import * as PrometheusText from "../../src/encoding/PrometheusText.ts";

verifies(
  "RUN-142",
  "a page has a head for each family and a line for each sample, escaped as demanded",
  () => {
    const text = PrometheusText.encode([
      PrometheusText.single("gauge", "things", "How many.", 3),
      PrometheusText.counterBy("seen_total", "Seen.", "what", new Map([['a"b\\c\nd', 1.5]])),
      {
        name: "took_seconds",
        type: "histogram",
        help: "How long.",
        samples: [
          { suffix: "_bucket", labels: { le: "+Inf" }, value: Infinity },
          { suffix: "_sum", value: Number.NaN },
        ],
      },
      PrometheusText.counterBy("never_total", "Nothing yet.", "what", new Map()),
    ]);
    expect(text).toBe(
      [
        "# HELP things How many.",
        "# TYPE things gauge",
        "things 3",
        "# HELP seen_total Seen.",
        "# TYPE seen_total counter",
        'seen_total{what="a\\"b\\\\c\\nd"} 1.5',
        "# HELP took_seconds How long.",
        "# TYPE took_seconds histogram",
        'took_seconds_bucket{le="+Inf"} +Inf',
        "took_seconds_sum NaN",
        "# HELP never_total Nothing yet.",
        "# TYPE never_total counter",
        "",
      ].join("\n"),
    );
  },
);
