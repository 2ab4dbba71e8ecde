import { subscriptionLimits } from '../../shared/config'
import { type Answers, batch } from '../../shared/db/batch'
import { AppError } from '../../shared/errors'
import type { InboxItemId } from '../../shared/ids'
import { accountErrors } from '../accounts/names'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { type IdempotentResult, runActionOnce } from '../database/run-once'
import { httpErrors } from '../http/errors'
import { presentPerson } from '../rules/people'
import type { PersonAnswer } from '../rules/people-sql'
import { type PlaceAnswer, presentPlace } from '../rules/places'
import { actorReader, type Reader } from '../viewers/reader'
import { communityErrors } from './actions'
import {
  followStatements,
  selectAccountToFollow,
  selectCommunityToSubscribe,
  subscribeStatements,
  unfollowStatements,
  unsubscribeStatements,
} from './subscription-queries'

/** Errors of subscriptions and follows, as users read them. */
export const subscriptionErrors = {
  noViewer: () =>
    httpErrors.unauthorized(
      'Your own feed requires your key.',
      'Leave out filter to read all posts.',
    ),
  notKept: () =>
    new AppError('VALIDATION', 'What you followed at an earlier time is not kept.', {
      hint: 'Leave out filter, or at.',
    }),
  ownAccount: () => new AppError('VALIDATION', "You can't follow your own account."),
  tooManyCommunities: () =>
    new AppError('CONFLICT', `You subscribe to ${subscriptionLimits.perAccountMax} communities.`, {
      hint: 'Unsubscribe from one of them first.',
    }),
  tooManyAccounts: () =>
    new AppError('CONFLICT', `You follow ${subscriptionLimits.perAccountMax} accounts.`, {
      hint: 'Unfollow one of them first.',
    }),
}

/** What a request was about, and whether it changed anything. */
interface Changed<Target> {
  target: Target
  isChanged: boolean
}

/** What `setSubscription` reads, for a request together with its viewer. */
export const subscriptionReads = (name: string, reader: Reader) => ({
  found: selectCommunityToSubscribe({ name, reader }),
})

/**
 * Subscribes to a community, or ends it: its posts are in the feed of the account. Repeating changes nothing.
 *
 * @param read the answers of `subscriptionReads` for this reader
 * @throws NOT_FOUND for a community that the account does not read, unless it ends; CONFLICT for too many
 */
export async function setSubscription(
  context: ActionContext,
  { actor, reader }: { actor: Actor; reader: Reader },
  { name, isOn }: { name: string; isOn: boolean },
  { found }: Answers<ReturnType<typeof subscriptionReads>>,
): Promise<IdempotentResult<Changed<PlaceAnswer>>> {
  const { db, clock } = context
  const { accountId, idempotencyKey: key } = actor
  const now = clock.now()
  const once = { accountId, key, action: 'communities.subscribe', input: { name, isOn } }
  return runActionOnce(db, once, now, async () => {
    if (!found || (isOn && !found.isReadable)) throw communityErrors.unknown()
    const of = { accountId, communityId: found.id }
    const { isChanged, after } = await batch(db, {
      ...(isOn ? subscribeStatements({ ...of, now }) : unsubscribeStatements(of)),
      after: subscriptionReads(name, reader).found,
    })
    if (isOn && !after?.isHeld) throw subscriptionErrors.tooManyCommunities()
    return { target: presentPlace(found), isChanged }
  })
}

/** What `setFollow` reads, for a request together with its viewer. */
export const followReads = (name: string, reader: Reader) => ({
  found: selectAccountToFollow({ name, reader }),
})

/**
 * Follows an account, or ends it: its posts are in the feed of the follower. Repeating changes nothing.
 *
 * @param read the answers of `followReads`
 * @throws NOT_FOUND, VALIDATION for one's own account, CONFLICT for too many
 */
export async function setFollow(
  context: ActionContext,
  actor: Actor,
  { name, isOn }: { name: string; isOn: boolean },
  { found }: Answers<ReturnType<typeof followReads>>,
): Promise<IdempotentResult<Changed<PersonAnswer>>> {
  const { db, clock } = context
  const { accountId, idempotencyKey: key } = actor
  const now = clock.now()
  const once = { accountId, key, action: 'accounts.follow', input: { name, isOn } }
  return runActionOnce(db, once, now, async () => {
    if (!found) throw accountErrors.notFound('Check the name of the account.')
    if (found.id === accountId) throw subscriptionErrors.ownAccount()
    const of = { accountId, followedId: found.id }
    const itemId = clock.newId<InboxItemId>()
    const { isChanged, after } = await batch(db, {
      ...(isOn ? followStatements({ ...of, itemId, now }) : unfollowStatements(of)),
      after: followReads(name, actorReader(actor)).found,
    })
    if (isOn && !after?.isHeld) throw subscriptionErrors.tooManyAccounts()
    return { target: presentPerson(found), isChanged }
  })
}
