// What a peer's text can do to a terminal: nothing.

import { describe, expect, test } from "vitest";
import { indented, oneLine, visible } from "../../src/text/Visible.ts";

describe("text of others", () => {
  test("cannot steer the terminal (C64)", () => {
    expect(visible("a\u001b[2Jb\u0007\u009b1m\r")).toBe("a\\u{1b}[2Jb\\u{7}\\u{9b}1m\\u{d}");
    expect(visible("\u202etxt.exe\u2066")).toBe("\\u{202e}txt.exe\\u{2066}");
  });

  test("keeps what real writing needs", () => {
    const text = "tab\there, שלום, سلام‌ها, 👩‍👩‍👧, e\u0301";
    expect(visible(text)).toBe(text);
  });

  test("stays behind its margin, line by line (C66)", () => {
    expect(indented("one\nverified: yes")).toBe("    one\n    verified: yes");
  });

  test("fits one line when it must", () => {
    expect(oneLine("a\nb\tc", 100)).toBe("a\\nb\\tc");
    expect(oneLine("🎈".repeat(10), 4)).toBe("🎈🎈🎈…");
  });
});
