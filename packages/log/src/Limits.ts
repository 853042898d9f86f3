// Every bound of the log, each with the reason for its number. Units stand last in names.

/** One entry. The largest envelope (522,240) fits with room; NATS refuses payloads over 1 MiB by default. */
export const entryBytesMax = 786_432;

/** One page of `read`: a slow subscriber holds at most this, and never less than one whole entry. */
export const readEntriesMax = 256;
export const readBytesMax = 4_194_304;

/** Dedupe ids: UTF-8 bytes. Long enough for two identifiers and a separator. */
export const dedupeIdBytesMax = 128;
/** Every engine remembers a dedupe id this long, unless its entry is erased: far beyond any retry of a lost answer. */
export const dedupeSecondsMin = 3_600;

/** Units of work in one transaction: a few milliseconds of work behind one fsync, so nobody waits long for others. */
export const groupUnitsMax = 512;

/** How long opening and closing wait for another process that holds the database. */
export const busyMsMax = 2_000;
/** How long a running service stands still for it at a time, and how often it looks whether it may go on. */
export const busyLookMs = 100;
export const busyLookEveryMs = 250;
/** How long units wait for it before they fail: longer than a shell or a backup holds it for. */
export const busyUnitsMsMax = 15_000;

/** Between two looks whether the files are still in their place. */
export const placeLookMs = 1_000;

/** What is left of the write-ahead log when a reader of another process had kept it from being folded. */
export const walBytesKeptMax = 16_777_216;

/** How often a waiting subscription looks for entries that another process appended to the same file. */
export const pollMs = 100;
