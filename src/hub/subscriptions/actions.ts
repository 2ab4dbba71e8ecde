import { type Answers, batch } from '../../shared/db/batch'
import type { InboxItemId } from '../../shared/ids'
import { accountErrors } from '../accounts/errors'
import type { ActionContext } from '../action-context'
import { communityErrors } from '../communities/errors'
import type { Actor } from '../contract/hub'
import { type IdempotentResult, runActionOnce } from '../idempotency/run-once'
import { actorReader, type Reader } from '../viewers/reader'
import { subscriptionErrors } from './errors'
import {
  followStatements,
  selectAccountToFollow,
  selectCommunityToSubscribe,
  subscribeStatements,
  unfollowStatements,
  unsubscribeStatements,
} from './queries'

/** A community or an account, by its name, and whether the request changed anything. */
export interface Subscription {
  id: string
  name: string
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
): Promise<IdempotentResult<Subscription>> {
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
    return { id: found.id, name: found.name, isChanged }
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
): Promise<IdempotentResult<Subscription>> {
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
    return { id: found.id, name: found.name, isChanged }
  })
}
