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

/** The value of each character of the alphabet, by its code. */
const values = new Uint8Array(128);
for (const [value, character] of [
  ..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
].entries()) {
  values[character.charCodeAt(0)] = value;
}

/**
 * The order (-1, 0 or 1) of the bytes that two canonical texts of one length stand for. Six bits decide at the first
 * difference, so nothing is decoded; the order of the texts themselves is another one.
 */
export const compareBytes = (left: string, right: string): number => {
  for (let i = 0; i < left.length; i++) {
    const order = (values[left.charCodeAt(i)] as number) - (values[right.charCodeAt(i)] as number);
    if (order !== 0) return Math.sign(order);
  }
  return 0;
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
