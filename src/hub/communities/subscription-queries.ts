import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { subscriptionLimits } from '../../shared/config'
import { flag, number, type RowOf } from '../../shared/db/fields'
import {
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, CommunityId, InboxItemId } from '../../shared/ids'
import { canReadSql } from '../rules/readable-sql'
import { accounts } from '../schema/accounts'
import { communities, follows, subscriptions } from '../schema/communities'
import { inboxItems } from '../schema/inbox'
import {
  accountOfReaderSql,
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import type { Reader } from '../viewers/reader'

const c = alias(communities, 'c')
const a = alias(accounts, 'a')
const s = alias(subscriptions, 's')
const f = alias(follows, 'f')
const i = alias(inboxItems, 'i')

const most = sql.raw(String(subscriptionLimits.perAccountMax))
const hasChanged = sql`changes() > 0`

interface OfCommunity {
  accountId: AccountId
  communityId: CommunityId
  now: number
}

interface NamedBy {
  name: string
  reader: Reader
}

type ByName = Params<NamedBy>

const isSubscribedSql = ({ reader }: ByName): SQL => sql`EXISTS (SELECT 1 FROM ${subscriptions} ${s}
  WHERE ${s.accountId} = ${accountOfReaderSql(reader)} AND ${s.communityId} = ${c.id})`

const communityFields = (v: ByName) => ({
  id: c.id,
  name: c.name,
  displayName: c.displayName,
  isReadable: flag(canReadSql(c.id, v.reader)),
  isHeld: flag(isSubscribedSql(v)),
})

/** Selects a community that the reader reads or subscribes to. */
export const selectCommunityToSubscribe: (
  by: NamedBy,
) => Statement<RowOf<ReturnType<typeof communityFields>> | undefined> = prepare((v: ByName) =>
  oneSql(
    communityFields(v),
    sql`FROM ${communities} ${c} WHERE ${c.name} = ${v.name}
        AND (${canReadSql(c.id, v.reader)} OR ${isSubscribedSql(v)})`,
  ),
)

const insertSubscription = prepare((v: Params<OfCommunity>) =>
  writeChanges(
    insertSelect(
      subscriptions,
      { accountId: v.accountId, communityId: v.communityId, createdAt: v.now },
      sql`WHERE (SELECT count(*) FROM ${subscriptions} ${s} WHERE ${s.accountId} = ${v.accountId}) < ${most}
        ON CONFLICT DO NOTHING`,
    ),
  ),
)

const deleteSubscription = prepare((v: Params<Omit<OfCommunity, 'now'>>) =>
  writeChanges(
    sql`DELETE FROM ${subscriptions} WHERE ${subscriptions.accountId} = ${v.accountId}
      AND ${subscriptions.communityId} = ${v.communityId}`,
  ),
)

const addSubscribers = (by: 1 | -1) =>
  prepare((v: Params<{ communityId: CommunityId }>) =>
    write(
      updateSet(
        communities,
        { subscriberCount: sql`max(0, ${communities.subscriberCount} + ${sql.raw(String(by))})` },
        sql`WHERE ${communities.id} = ${v.communityId} AND ${hasChanged}`,
      ),
    ),
  )

const [addSubscriber, removeSubscriber] = [addSubscribers(1), addSubscribers(-1)]

/** Subscribes an account to a community, once. */
export const subscribeStatements = (of: OfCommunity) => ({
  isChanged: insertSubscription(of),
  count: addSubscriber({ communityId: of.communityId }),
})

export const unsubscribeStatements = ({ accountId, communityId }: Omit<OfCommunity, 'now'>) => ({
  isChanged: deleteSubscription({ accountId, communityId }),
  count: removeSubscriber({ communityId }),
})

interface OfAccount {
  accountId: AccountId
  followedId: AccountId
  itemId: InboxItemId
  now: number
}

const accountFields = ({ reader }: ByName) => ({
  id: a.id,
  name: a.name,
  kind: a.kind,
  displayName: a.displayName,
  isHeld: flag(sql`EXISTS (SELECT 1 FROM ${follows} ${f}
    WHERE ${f.accountId} = ${accountOfReaderSql(reader)} AND ${f.followedId} = ${a.id})`),
})

/** An account, with whether the reader follows it. */
export const selectAccountToFollow: (
  by: NamedBy,
) => Statement<RowOf<ReturnType<typeof accountFields>> | undefined> = prepare((v: ByName) =>
  oneSql(
    accountFields(v),
    sql`FROM ${accounts} ${a} WHERE ${a.name} = ${v.name} AND ${a.kind} <> 'system'
      AND ${a.deletedAt} IS NULL`,
  ),
)

const insertFollow = prepare((v: Params<Omit<OfAccount, 'itemId'>>) =>
  writeChanges(
    insertSelect(
      follows,
      { accountId: v.accountId, followedId: v.followedId, createdAt: v.now },
      sql`WHERE (SELECT count(*) FROM ${follows} ${f} WHERE ${f.accountId} = ${v.accountId}) < ${most}
        ON CONFLICT DO NOTHING`,
    ),
  ),
)

const deleteFollow = prepare((v: Params<Pick<OfAccount, 'accountId' | 'followedId'>>) =>
  writeChanges(
    sql`DELETE FROM ${follows} WHERE ${follows.accountId} = ${v.accountId}
      AND ${follows.followedId} = ${v.followedId}`,
  ),
)

const addFollowers = (by: 1 | -1) =>
  prepare((v: Params<{ followedId: AccountId }>) =>
    write(
      updateSet(
        accounts,
        { followerCount: sql`max(0, ${accounts.followerCount} + ${sql.raw(String(by))})` },
        sql`WHERE ${accounts.id} = ${v.followedId} AND ${hasChanged}`,
      ),
    ),
  )

const [addFollower, removeFollower] = [addFollowers(1), addFollowers(-1)]

/** Notifies an account of a new follower, unless it was and has not read it yet. It wakes no agent. */
const notifyFollowed = prepare((v: Params<OfAccount>) =>
  write(
    insertSelect(
      inboxItems,
      {
        id: v.itemId,
        accountId: a.id,
        type: 'follow',
        fromAccountId: v.accountId,
        content: 'Follows you.',
        createdAt: v.now,
      },
      sql`FROM ${accounts} ${a} WHERE ${a.id} = ${v.followedId} AND ${a.isImported} = 0 AND ${hasChanged}
        AND NOT EXISTS (SELECT 1 FROM ${inboxItems} ${i} WHERE ${i.accountId} = ${a.id}
          AND ${i.readAt} IS NULL AND ${i.type} = 'follow' AND ${i.fromAccountId} = ${v.accountId})`,
    ),
  ),
)

/** Makes an account follow another, once. */
export const followStatements = ({ accountId, followedId, itemId, now }: OfAccount) => ({
  isChanged: insertFollow({ accountId, followedId, now }),
  count: addFollower({ followedId }),
  notify: notifyFollowed({ accountId, followedId, itemId, now }),
})

export const unfollowStatements = ({
  accountId,
  followedId,
}: Pick<OfAccount, 'accountId' | 'followedId'>) => ({
  isChanged: deleteFollow({ accountId, followedId }),
  count: removeFollower({ followedId }),
})

const ofViewer = sql`(SELECT ${viewer.id} FROM ${viewer})`

const preparedFollowers = prepare((v: Params<ViewerValues & { name: string }>) =>
  oneSql(
    {
      followerCount: a.followerCount,
      followingCount: number(
        sql`(SELECT count(*) FROM ${follows} ${f} WHERE ${f.accountId} = ${a.id})`,
      ),
      isFollowed: flag(sql`EXISTS (SELECT 1 FROM ${follows} ${f}
        WHERE ${f.accountId} = ${ofViewer} AND ${f.followedId} = ${a.id})`),
    },
    sql`FROM ${accounts} ${a} WHERE ${a.name} = ${v.name}`,
    viewerCte(v),
  ),
)

/** Selects how many follow an account, how many it follows, and whether the viewer follows it. */
export const selectFollowers = (credential: Credential | null, now: number, name: string) =>
  preparedFollowers({ ...viewerValues(credential, now), name })

/** Ends what an account subscribes to and follows, and who follows it, before it is deleted. */
export const deleteSubscriptions = (id: AccountId) => ({
  subscribers: write(
    updateSet(
      communities,
      { subscriberCount: sql`max(0, ${communities.subscriberCount} - 1)` },
      sql`WHERE ${communities.id} IN (SELECT ${s.communityId} FROM ${subscriptions} ${s}
        WHERE ${s.accountId} = ${id})`,
    ),
  ),
  followers: write(
    updateSet(
      accounts,
      { followerCount: sql`max(0, ${accounts.followerCount} - 1)` },
      sql`WHERE ${accounts.id} IN (SELECT ${f.followedId} FROM ${follows} ${f} WHERE ${f.accountId} = ${id})`,
    ),
  ),
  subscriptions: write(sql`DELETE FROM ${subscriptions} WHERE ${subscriptions.accountId} = ${id}`),
  follows: write(
    sql`DELETE FROM ${follows} WHERE ${follows.accountId} = ${id} OR ${follows.followedId} = ${id}`,
  ),
})
