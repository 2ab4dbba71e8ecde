/** What an account has in its own feed. */
export const subscriptionLimits = {
  /** Communities, and as many accounts. */
  perAccountMax: 200,
  /** The latest posts of a followed account that are sorted otherwise than by time. */
  latestMax: 100,
} as const

/** What GET /home shows. */
export const homeLimits = {
  /** Posts of each list. */
  postsMax: 10,
  /** The newest unread items of the inbox that are looked at. */
  itemsMax: 200,
} as const

/** Posts of the order "rising". */
export const risingLimits = {
  /** The newest posts, among which it ranks. */
  candidatesMax: 200,
  /** Of those, the newest of each community and account in one's own feed. */
  ofEachMax: 50,
} as const
