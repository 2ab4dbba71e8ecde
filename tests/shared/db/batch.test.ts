import { env } from 'cloudflare:workers'
import { desc, eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { expect, test } from 'vitest'
import { accounts } from '../../../src/hub/schema/accounts'
import { communities } from '../../../src/hub/schema/communities'
import { batch, run } from '../../../src/shared/db/batch'
import { createDb } from '../../../src/shared/db/db'
import { flag, nullable, number } from '../../../src/shared/db/fields'
import {
  many,
  manySql,
  one,
  oneSql,
  orm,
  type Params,
  prepare,
  write,
  writeChanges,
} from '../../../src/shared/db/statement'
import { insertSelect, updateSet } from '../../../src/shared/db/write-sql'
import type { AccountId, CommunityId } from '../../../src/shared/ids'

const db = createDb(env.DB)
const now = Date.UTC(2026, 0, 1)
const author = 'account-of-batch' as AccountId
const owned = 'community-of-batch' as CommunityId

await batch(db, {
  account: write(
    orm
      .insert(accounts)
      .values({ id: author, name: 'batch-author', kind: 'human', createdAt: now }),
  ),
  community: write(
    orm.insert(communities).values({
      id: owned,
      name: 'batch-place',
      displayName: 'Batch place',
      createdBy: author,
      createdAt: now,
    }),
  ),
})

const ownedCommunity = eq(communities.id, owned)

test('answers have the names of their statements and the types of their columns', async () => {
  const before = db.cost.roundTrips
  const { account, places, nothing, writes, left } = await batch(db, {
    account: one(orm.select().from(accounts).where(eq(accounts.id, author))),
    places: many(orm.select({ id: communities.id }).from(communities).where(ownedCommunity)),
    nothing: one(
      orm
        .select()
        .from(accounts)
        .where(eq(accounts.id, 'nobody' as AccountId)),
    ),
    writes: [writeChanges(orm.update(communities).set({ isMuted: true }).where(ownedCommunity))],
    left: null,
  })
  expect(db.cost.roundTrips - before).toBe(1)
  expect(account).toMatchObject({ id: author, isImported: false, metadata: {}, displayName: null })
  expect(places).toEqual([{ id: owned }])
  expect(nothing).toBeUndefined()
  expect(writes).toEqual([true])
  expect(left).toBeUndefined()
})

test('a join keeps both of two columns that have one SQL name', async () => {
  const joined = orm
    .select({ id: communities.id, name: communities.name, authorId: accounts.id, author: accounts })
    .from(communities)
    .leftJoin(accounts, eq(accounts.id, communities.createdBy))
  const { mine, general } = await batch(db, {
    mine: one(joined.where(ownedCommunity)),
    general: one(
      orm
        .select({ name: communities.name, author: accounts })
        .from(communities)
        .leftJoin(accounts, sql`false`)
        .where(eq(communities.name, 'general')),
    ),
  })
  expect(mine).toMatchObject({ id: owned, name: 'batch-place', authorId: author })
  expect(mine?.author?.name).toBe('batch-author')
  expect(general).toEqual({ name: 'general', author: null })
})

test('a select that gives two columns one name is refused before it is sent', () => {
  const twice = { a: sql<number>`1`.as('same'), b: sql<number>`2`.as('same') }
  expect(() => many(orm.select(twice).from(accounts))).toThrow('named "same"')
  expect(() => manySql(twice, sql`FROM ${accounts}`)).toThrow('named "same"')
})

test('SQL by hand has the columns that its fields name', async () => {
  const c = alias(communities, 'c')
  const a = alias(accounts, 'a')
  const rows = await run(
    db,
    manySql(
      {
        id: c.id,
        isMuted: c.isMuted,
        isEmpty: flag(sql`${c.postCount} = 0`),
        count: number(sql`(SELECT count(*) FROM ${communities})`),
        author: { id: nullable(a.id), name: nullable(a.name) },
      },
      sql`FROM ${communities} ${c} LEFT JOIN ${accounts} ${a} ON ${a.id} = ${c.createdBy} WHERE ${c.id} = ${owned}`,
    ),
  )
  expect(rows).toEqual([
    {
      id: owned,
      isMuted: true,
      isEmpty: true,
      count: expect.any(Number),
      author: { id: author, name: 'batch-author' },
    },
  ])
})

test('a prepared statement is compiled once and binds a value once, however often it stands there', async () => {
  let built = 0
  const select = prepare(({ name, limit }: Params<{ name: string; limit: number }>) => {
    built++
    return manySql(
      { name: communities.name, same: flag(sql`${communities.name} = ${name}`) },
      sql`FROM ${communities} WHERE ${communities.name} >= ${name} OR ${communities.name} = ${name}
        ORDER BY ${communities.name} LIMIT ${limit}`,
    )
  })
  const { first, second } = await batch(db, {
    first: select({ name: 'batch-place', limit: 1 }),
    second: select({ name: 'general', limit: 1 }),
  })
  expect(first).toEqual([{ name: 'batch-place', same: true }])
  expect(second).toEqual([{ name: 'general', same: true }])
  expect(built).toBe(1)
  expect(select({ name: 'x', limit: 3 }).compile().params).toEqual(['x', 3])
})

test('a guarded insert encodes its values, and writes nothing where its condition fails', async () => {
  const insert = prepare((v: Params<{ id: CommunityId; isMuted: boolean; isAllowed: number }>) =>
    writeChanges(
      insertSelect(
        communities,
        {
          id: v.id,
          name: v.id,
          displayName: 'Guarded',
          isMuted: v.isMuted,
          createdAt: sql`${now} + 1`,
        },
        sql`WHERE ${v.isAllowed} = 1`,
      ),
    ),
  )
  const id = 'guarded' as CommunityId
  const { refused, written, moved, found } = await batch(db, {
    refused: insert({ id, isMuted: true, isAllowed: 0 }),
    written: insert({ id, isMuted: true, isAllowed: 1 }),
    moved: writeChanges(
      updateSet(
        communities,
        { isMuted: false, postCount: sql`${communities.postCount} + 2` },
        sql`WHERE ${communities.id} = ${id}`,
      ),
    ),
    found: oneSql(
      {
        isMuted: communities.isMuted,
        postCount: communities.postCount,
        createdAt: communities.createdAt,
      },
      sql`FROM ${communities} WHERE ${communities.id} = ${id}`,
    ),
  })
  expect({ refused, written, moved }).toEqual({ refused: false, written: true, moved: true })
  expect(found).toEqual({ isMuted: false, postCount: 2, createdAt: now + 1 })
})

test('a write with returning gives its rows, and an empty batch takes no trip', async () => {
  const deleted = await run(
    db,
    many(
      orm
        .delete(communities)
        .where(eq(communities.id, 'guarded' as CommunityId))
        .returning({ id: communities.id, isMuted: communities.isMuted }),
    ),
  )
  expect(deleted).toEqual([{ id: 'guarded', isMuted: false }])
  const before = db.cost.roundTrips
  expect(await batch(db, { none: null, list: [] })).toEqual({ none: undefined, list: [] })
  expect(db.cost.roundTrips).toBe(before)
  const newest = many(
    orm
      .select({ at: accounts.createdAt })
      .from(accounts)
      .orderBy(desc(accounts.createdAt))
      .limit(1),
  )
  expect(await run(db, newest)).toHaveLength(1)
})

test('a limit is no parameter alone, because SQLite compiles a statement again for each value of one', async () => {
  const page = prepare(({ count, skipped }: Params<{ count: number; skipped: number }>) =>
    many(
      orm
        .select({ n: sql<number>`value` })
        .from(sql`json_each('[1, 2, 3, 4]')`)
        .limit(count)
        .offset(skipped),
    ),
  )
  const statement = page({ count: 2, skipped: 1 })
  expect(statement.compile().sql).toMatch(/ limit \(\?1 \+ 0\) offset \?2$/)
  expect(await run(db, statement)).toEqual([{ n: 2 }, { n: 3 }])
})
