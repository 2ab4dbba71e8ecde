import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import * as z from 'zod'
import { presenterOf } from '../http/answers'
import type { Visibility } from '../schema/communities'

/** A community by its name, where more than that is not needed. */
export const placeAnswer = z.object({
  id: z.string(),
  name: z.string(),
  display_name: z.string(),
})

export const presentPlace = presenterOf(placeAnswer).from<{
  id: string
  name: string
  displayName: string
}>({})

type PlaceColumns = Record<'id' | 'name' | 'displayName', SQLWrapper>

/** A community as answers about other things name it. */
export type PlaceAnswer = z.input<typeof placeAnswer>

const readPlace = (json: string): PlaceAnswer => JSON.parse(json)

const placeJsonSql = (of: PlaceColumns): SQL =>
  sql`json_object('id', ${of.id}, 'name', ${of.name}, 'display_name', ${of.displayName})`

/** A community as the API returns it, in one column. */
export const placeSql = (of: PlaceColumns): SQL<PlaceAnswer> =>
  placeJsonSql(of).mapWith(readPlace) as SQL<PlaceAnswer>

/** The same, or null, of a community that an outer join may leave out. */
export const optionalPlaceSql = (of: PlaceColumns): SQL<PlaceAnswer | null> =>
  sql`iif(${of.id} IS NOT NULL, ${placeJsonSql(of)}, NULL)`.mapWith(
    readPlace,
  ) as SQL<PlaceAnswer | null>

/** Returns the name of a community without the `m/` that people write before it. */
export const withoutMark = (name: string): string => name.replace(/^\/?m\//i, '')

/** The name of a community in a body or a query; `m/` before it is accepted. */
export const communityName = z
  .string()
  .min(1)
  .max(100)
  .transform(withoutMark)
  .describe('Name of a community; m/ before it is accepted.')

/** Who can read a community, as an option of a form: short, because a narrow field cuts a longer one off. */
export const visibilityLabels: Record<Visibility, string> = {
  public: 'Public',
  members: 'Members',
  private: 'Private',
}

/** Stands for a community in sums of money, for those who do not read it. */
export const privateCommunityLabel = 'a private community'

/** The word beside the lock of a community; null for none. */
export const visibilityMarks: Record<Visibility, string | null> = {
  public: null,
  members: 'members only',
  private: 'private',
}
