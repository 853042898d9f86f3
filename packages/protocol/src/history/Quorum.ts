// The thresholds of a conversation of n members. Implements HIS-01.

/** Byzantine members tolerated: none below four, where every member must be honest. */
export const faultsOf = (n: number): number => (n < 4 ? 0 : Math.floor((n - 1) / 3));

/** q(n): action votes of a POST, and durability and carry votes of everything. */
export const quorumOf = (n: number): number => (n < 4 ? n : n - faultsOf(n));

/** Action votes that certify a record: all members for GENESIS, q(n) including the author for a POST. */
export const actionThresholdOf = (n: number, height: number): number => (height === 0 ? n : quorumOf(n));
