// A daemon is on this machine, whatever proxy the environment names for the rest of the world. Node hands even loopback to a
// proxy where NODE_USE_ENV_PROXY or --use-env-proxy is set, so loopback is added to the exceptions. Implements MGT-151.

const loopback = "127.0.0.1,localhost";

/** Node looks at the lower-case name first, and at the other only where that one is not set at all. */
export const exempt = (environment: Record<string, string | undefined>): void => {
  const exceptions = environment["no_proxy"] ?? environment["NO_PROXY"] ?? "";
  environment["no_proxy"] = exceptions === "" ? loopback : `${exceptions},${loopback}`;
};
