import { desc, eq, getTableColumns } from 'drizzle-orm'
import {
  many,
  one,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { type Community, communities } from '../schema/communities'

const { seq: _, ...communityFields } = getTableColumns(communities)

export type CommunityRow = Omit<Community, 'seq'>

export const insertCommunity = (community: typeof communities.$inferInsert): Statement<void> =>
  write(orm.insert(communities).values(community))

const preparedCommunity = prepare(({ name }: Params<{ name: string }>) =>
  one(orm.select(communityFields).from(communities).where(eq(communities.name, name))),
)

/** Selects a community by name, in any case. */
export const selectCommunity = (name: string): Statement<CommunityRow | undefined> =>
  preparedCommunity({ name })

const preparedCommunities = prepare(
  ({ limit, offset }: Params<{ limit: number; offset: number }>) =>
    many(
      orm
        .select(communityFields)
        .from(communities)
        .orderBy(communities.isMuted, desc(communities.postCount), communities.name)
        .limit(limit)
        .offset(offset),
    ),
)

/** Selects communities with the most posts first; muted ones come last. */
export const selectCommunities = (limit: number, offset = 0): Statement<CommunityRow[]> =>
  preparedCommunities({ limit, offset })
