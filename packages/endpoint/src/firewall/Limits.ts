// What the firewall takes and spends at most, each with the reason for its number. Implements ING-131, ING-136, ING-142 and ING-150 to ING-154.

/** Of firewall.json: some hundred rules with their names and words. */
export const fileBytesMax = 262_144;
/** Rules are tried one after the other for each item. */
export const rulesMax = 256;
/** Names or principals in one condition. */
export const namesMax = 1_000;
/** An expression is for a person to read. */
export const patternCharactersMax = 1_024;
/** Instructions of one compiled expression; what people write has a few dozen. */
export const patternInstructionsMax = 500;
/**
 * A step is one instruction of an expression at one character, or as little: some 30 ns where a text is made to be slow to look
 * through, and far less elsewhere. After so many, which are a few milliseconds, everything else has a turn.
 */
export const stepsAtOnce = 250_000;
/** Of one look at one text, half a second at worst, since nothing can run before its end. */
export const lookStepsMax = 16_000_000;
/** How long whoever has taken that long rests at most. */
export const restMsMax = 500;
/** Of the processor's time, for all looks at one message. */
export const rulesMsMax = 1_000;
/** Of a rate: more items than this in one window are no flood that a person would want described. */
export const rateItemsMax = 1_000;
export const rateSecondsMax = 86_400;
/** Senders whose rate is remembered; the one that was heard longest ago goes. */
export const rateSendersMax = 1_024;

export const guidanceBytesMax = 4_096;
/** Why an item is held, in the words of a rule or of a checker. */
export const explanationBytesMax = 1_024;

/** One question to a checker, from its start to its verdict. */
export const checkMsMax = 10_000;
/** Of a checker's answer: both texts at their limits, each byte of them escaped, stay under it. */
export const answerBytesMax = 65_536;
/** Before each further question about an item that a checker failed to answer. */
export const checkAgainAfterMs: ReadonlyArray<number> = [500, 2_000];

/** Questions that are asked at the same time: each is a process or a connection. Of agents of one principal, half of them. */
export const checks = { placesMax: 8, ofOneMax: 4 } as const;
/** Conversations whose items are in memory while rules decide; of one agent, few enough to leave most of them to others. */
export const decisions = { placesMax: 16, ofOneMax: 2 } as const;
/** Items of one conversation that are settled in one commit. */
export const runItemsMax = 16;
/** And so many characters of them, or one item, since reading them takes the one thread. */
export const runCharactersMax = 262_144;
/** Before a conversation is tried again whose verdict the store refused. */
export const storeRetryMs = 5_000;

/** How soon a change of the file is seen, and how long it must stay as it is before it counts. */
export const watchMs = 1_000;
export const settledMs = 250;
/** How long a file must be away before there is none: editors and deployments take one away and bring another. */
export const absentMs = 3_000;

export const holdPageMax = 50;
