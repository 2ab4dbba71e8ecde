/** Admins who open what is private to a community or an account. */
export const openings = {
  holdsMs: 3_600_000,
  reasonCharsMax: 500,
  listed: 100,
} as const

/** Limits of reports, actions of moderators and appeals. */
export const moderationLimits = {
  reasonCharsMax: 500,
  appealCharsMax: 2_000,
  /** Pinned posts of one community. */
  pinsMax: 3,
  /** Reports that one account makes an hour. */
  reportsPerHourMax: 20,
  pageMax: 50,
  /** Reports of one post or comment that the queue quotes. */
  reasonsShownMax: 10,
  /** Characters of a reported text in the queue. */
  excerptCharsMax: 2_000,
} as const
