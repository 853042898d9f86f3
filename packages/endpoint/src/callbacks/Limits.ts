// What one callback may cost at most, each with the reason for its number. Implements ING-60, ING-70, ING-71, ING-73, ING-79 and ING-264.

/** Longer than any webhook address in the wild, short enough for a row and a log of many. */
export const urlCharactersMax = 2_048;

/** Over everything, from the name to the last byte: a receiver answers with a receipt, and works afterwards. */
export const deadlineMs = 10_000;

/** An answer is an echoed challenge or a verdict. What follows is not read. */
export const answerBytesMax = 4_096;

/** The head of one answer before the answer; as much as the client takes of any head. */
export const interimBytesMax = 16_384;

/** Whoever asks for more is asked again: a receiver cannot put off its deliveries for a day with one header. */
export const retryAfterMsMax = 300_000;

/** Before the next of several addresses is tried. The last one has the rest of the deadline. */
export const attemptMsMax = 1_000;

/** Of a test network's own addresses: a few listeners on one machine. */
export const testAddressesMax = 16;
export const testFileBytesMax = 65_536;
