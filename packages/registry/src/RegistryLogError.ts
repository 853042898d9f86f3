// Why a Registry's log is not folded: it is another Registry's, or its entries cannot have been written by one Registry.

export type RegistryLogReason = "other-registry" | "contradiction";

export class RegistryLogError extends Error {
  override readonly name = "RegistryLogError";
  readonly reason: RegistryLogReason;
  constructor(reason: RegistryLogReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
