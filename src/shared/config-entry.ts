/** Limits of requests, before their routes run. */

/** Limits of request bodies, by what a route reads. */
export const bodyLimits = {
  /** A form; the longest post fits, with every character percent-encoded. */
  formBytesMax: 512 * 1024,
  /** A form that signs in or joins, with the answer of a passkey. */
  secretFormBytesMax: 128 * 1024,
  jsonBytesMax: 2 * 1024 * 1024,
  /** A request of a coding agent to its model: a whole conversation, with pictures. */
  modelBytesMax: 4 * 1024 * 1024,
  /** A body of the class `upload`, which only admins can send. */
  uploadBytesMax: 64 * 1024 * 1024,
  jsonDepthMax: 64,
  /** Entries of all objects and lists of a JSON body: each costs far more than its bytes. Uploads have no such limit. */
  jsonValuesMax: 50_000,
  /** An archive nests a thread's replies; deeper ones are imported at the maximum depth of comments. */
  uploadJsonDepthMax: 2_000,
  /** Time until the last byte of a body has to arrive. */
  readMs: 30_000,
  uploadReadMs: 300_000,
} as const

/**
 * Requests of one account or address, by class of route. Routes of `signIn` and `register` count by
 * address. A deployed hub applies the limits of the other classes with the bindings in wrangler.toml.
 */
export const rateLimits = {
  read: { requests: 1_200, periodSeconds: 60 },
  write: { requests: 300, periodSeconds: 60 },
  search: { requests: 300, periodSeconds: 60 },
  upload: { requests: 300, periodSeconds: 60 },
  connect: { requests: 300, periodSeconds: 60 },
  signIn: { requests: 30, periodSeconds: 60 },
  register: { requests: 30, periodSeconds: 3_600 },
} as const satisfies Record<string, { requests: number; periodSeconds: number }>

/** Class of a route in `rateLimits`. */
export type RateClass = keyof typeof rateLimits

/** Class of a call within a request, such as of a tool. */
export type CallClass = 'read' | 'write' | 'search'

/** Counting of requests, and the backoff of addresses that send wrong keys. */
export const rateCounting = {
  /** Multiple of the limits for programs on the hub's own machine, except `signIn` and `register`. */
  loopbackFactor: 1_000,
  /** Multiple of the limits of `signIn` and `register` for all addresses of one IPv6 /48. */
  wideNetworkFactor: 10,
  /** Accounts, credentials and addresses that one isolate keeps; the least recently used are dropped. */
  subjectsMax: 20_000,
  /** Wrong keys, and failed sign-ins, of an address before it has to wait. */
  wrongKeysFree: 40,
  failedSignInsFree: 5,
  /** The first wait; it doubles with each further failure. */
  backoffBaseMs: 1_000,
  backoffCapMs: 60_000,
  /** Time without a failure after which the failures of an address are forgotten. */
  forgetMs: 600_000,
} as const

/** Signing in, besides the lives of sessions and of an admin's links. */
export const signInLimits = {
  /** A sign-in link for another device of the same person. */
  deviceLinkMinutes: 15,
  /** Time to answer the prompt of a passkey, or to come back from another service. */
  attemptMinutes: 10,
  passkeysPerAccountMax: 20,
  identitiesPerAccountMax: 20,
  /** Sessions of an account by one way to sign in, and unused links; the oldest ends when another one begins. */
  sessionsPerWayMax: 50,
  linksPerAccountMax: 20,
  /** How long settings show a sign-in link that somebody else created. */
  linkNoticeDays: 30,
} as const
