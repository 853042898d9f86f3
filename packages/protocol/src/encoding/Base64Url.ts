// Canonical unpadded base64url. Node's own decoder accepts padding, white space, aliases and stray bits; this one does not.

const alphabet = /^[A-Za-z0-9_-]*$/;

export const encode = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64url");

/** The bytes, or null when `text` is not the one canonical spelling. */
export const decode = (text: string): Buffer | null => {
  if (!alphabet.test(text) || text.length % 4 === 1) return null;
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : null;
};

/**
 * A pattern that exactly the canonical encodings of `byteCount` bytes match: right length, right alphabet, and a last
 * character whose unused bits are zero.
 */
export const patternOf = (byteCount: number, prefix = ""): RegExp => {
  const length = Math.ceil((byteCount * 8) / 6);
  const spare = length * 6 - byteCount * 8;
  const last = spare === 0 ? "A-Za-z0-9_-" : spare === 2 ? "AEIMQUYcgkosw048" : "AQgw";
  return new RegExp(`^${prefix}[A-Za-z0-9_-]{${length - 1}}[${last}]$`);
};
