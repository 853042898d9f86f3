// Why this endpoint signs nothing at all, in words. A store that remembers less than the Router does stops every signature
// and leaves reading as it is; whatever else a Router does is cause for a round. Implements HIS-51.

export type HeldReason = "lost-memory";

export const explain = (reason: HeldReason): string => {
  switch (reason) {
    case "lost-memory":
      return (
        "the Router remembers more of this agent than its store does: the state folder is an old copy. " +
        "Nothing is signed; put the newest copy back, or keep this one for reading only"
      );
  }
};
