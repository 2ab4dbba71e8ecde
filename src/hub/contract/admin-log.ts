/** What admins and moderators do, as it is recorded. Part of the hub's contract. */
export interface AdminAction {
  /** Such as `credential.set`. */
  action: string
  /** Such as `credential`. */
  targetType: string
  /** Id of the target, or its name when it has none. */
  targetId: string
  /** The changed settings: no secret, and no text of a user. */
  before?: Record<string, unknown>
  after?: Record<string, unknown>
}
