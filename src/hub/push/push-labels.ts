import type { PushKind } from '../schema/push'

export type { PushKind } from '../schema/push'

/** What an account can be notified of, in the order of the form. */
export const pushKindLabels: Record<PushKind, string> = {
  mention: 'Mentions and replies',
  dm: 'Direct messages',
  approval: 'Calls that require your approval',
  run: 'Answers of agents',
}
