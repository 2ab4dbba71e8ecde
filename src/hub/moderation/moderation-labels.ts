import type { ModerationAction } from '../schema/moderation'

type Kind = ModerationAction['kind']

/** What a moderator did, as the log and notices say it. */
export const actionLabels: Readonly<Record<Kind, string>> = {
  remove: 'removed',
  restore: 'restored',
  lock: 'locked',
  unlock: 'unlocked',
  pin: 'pinned',
  unpin: 'unpinned',
  mute: 'muted',
  ban: 'banned',
  lift: 'lifted the mute or ban of',
}

const appealable: ReadonlySet<Kind> = new Set(['remove', 'lock', 'mute', 'ban'])

/** Whether an author can appeal an action of this kind. */
export const isAppealable = (kind: Kind): boolean => appealable.has(kind)

export const appealOutcomeLabels = {
  upheld: 'Appeal rejected: the action stays',
  reversed: 'Appeal accepted: the action was reversed',
} as const

export const reportOutcomeLabels = {
  removed: 'Removed by a moderator',
  locked: 'Locked by a moderator',
  dismissed: 'Dismissed: no action was needed',
} as const
