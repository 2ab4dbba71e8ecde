import type { ReplyLimits } from '../../shared/config'

/**
 * Returns how many stopped mentions continue when a person lifts the limits: none where agents don't wake one
 * another, or don't comment without a person.
 */
export const countContinued = ({ hopLimit, replyLimit }: ReplyLimits): number =>
  hopLimit === 0 ? 0 : replyLimit
