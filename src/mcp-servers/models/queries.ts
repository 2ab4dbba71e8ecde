import { and, eq, getTableColumns, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { SetPrice } from '../../hub/contract/hub'
import {
  many,
  mapStatement,
  one,
  orm,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { credentials, type KeyTest, modelProviders, services } from '../schema'

/** The server name of the keys and addresses of model providers. */
export const modelServer = 'models'

/** Returns the name of a provider's key. No other credential can have it: names have no `/`. */
export const keyNameOf = (provider: string): string => `${modelServer}/${provider}`

const m = modelProviders
const s = services
const c = credentials

/** Selects the providers that are set up, each with its declared address and its encrypted key. */
export const selectProviderRows = prepare(() =>
  many(
    orm
      .select({ provider: m, service: s, credential: c })
      .from(m)
      .leftJoin(s, and(eq(s.server, sql.raw(`'${modelServer}'`)), eq(s.name, m.provider)))
      .leftJoin(c, eq(c.name, sql`'models/' || ${m.provider}`))
      .orderBy(m.provider),
  ),
)

/** What identifies the key of a provider: another value for each that is set. */
const keyIdSql = sql`coalesce(${c.iv}, ${c.variable})`

/** Whether agents use the key of a provider. */
const isKeyUsedSql = sql`(${m.keyTest} ->> 'key' IS ${keyIdSql} AND ${m.keyTest} ->> 'problem' IS NULL)`

/** Selects whether agents can use a provider that is set up. */
export const selectHasProviders = prepare(() =>
  mapStatement(
    one(
      orm
        .select({ provider: m.provider })
        .from(m)
        .leftJoin(c, eq(c.name, sql`'models/' || ${m.provider}`))
        .where(sql`${c.name} IS NULL OR ${isKeyUsedSql}`)
        .limit(1),
    ),
    (row) => row !== undefined,
  ),
)

/** Records a test of the key that a provider has now, unless agents use that key. */
export const updateKeyTest = (provider: string, test: KeyTest): Statement<void> =>
  write(
    orm
      .update(m)
      .set({ keyTest: test })
      .where(
        sql`${m.provider} = ${provider} AND EXISTS (SELECT 1 FROM ${c}
          WHERE ${c.name} = ${keyNameOf(provider)} AND ${keyIdSql} = ${test.key} AND NOT ${isKeyUsedSql})`,
      ),
  )

/** Selects a row as a JSON object by the names of the schema. */
const toJson = (table: SQLiteTable): SQL =>
  sql`json_object(${sql.join(
    Object.entries(getTableColumns(table)).map(
      ([name, column]) => sql`${sql.raw(`'${name}'`)}, ${column}`,
    ),
    sql`, `,
  )})`

const toOptionalJson = (table: SQLiteTable, key: SQLWrapper): SQL =>
  sql`json(iif(${key} IS NULL, 'null', ${toJson(table)}))`

/** The rows of `selectProviderRows` as one value. */
export const providerRowsSql: SQL = sql`(
  SELECT json_group_array(json_object('provider', ${toJson(m)}, 'service', ${toOptionalJson(s, s.name)},
    'credential', ${toOptionalJson(c, c.name)}))
  FROM ${m} LEFT JOIN ${s} ON ${s.server} = ${sql.raw(`'${modelServer}'`)} AND ${s.name} = ${m.provider}
  LEFT JOIN ${c} ON ${c.name} = 'models/' || ${m.provider})`

/** Returns the rows in the value of `providerRowsSql`. */
export function readProviderRows(value: string): ProviderRow[] {
  const rows = JSON.parse(value) as Record<'provider' | 'service' | 'credential', RawRow | null>[]
  return rows.map(({ provider, service, credential }) => ({
    provider: readRow(m, provider),
    service: service && readRow(s, service),
    credential: credential && readRow(c, credential),
  })) as ProviderRow[]
}

type RawRow = Record<string, unknown>

const readRow = (table: SQLiteTable, row: RawRow | null): RawRow =>
  Object.fromEntries(
    Object.entries(getTableColumns(table)).map(([name, column]) => {
      const value = row?.[name] ?? null
      return [name, value === null ? null : column.mapFromDriverValue(value)]
    }),
  )

type Answered<S> = S extends Statement<infer Result> ? Result : never
export type ProviderRow = Answered<ReturnType<typeof selectProviderRows>>[number]

/** Records that an admin set up or changed a provider; fields that are left out stay. */
export const upsertProvider = (
  row: Pick<typeof modelProviders.$inferInsert, 'provider' | 'updatedAt' | 'updatedBy'> &
    Partial<typeof modelProviders.$inferInsert>,
): Statement<void> => {
  const { provider: _, ...set } = row
  return write(orm.insert(m).values(row).onConflictDoUpdate({ target: m.provider, set }))
}

/** Sets the price of a model in the row of its provider, or with null removes it. */
export const updatePrice = (
  provider: string,
  model: string,
  price: SetPrice | null,
): Statement<void> =>
  write(
    orm
      .update(m)
      .set({ prices: sql`json_patch(${m.prices}, ${JSON.stringify({ [model]: price })})` })
      .where(eq(m.provider, provider)),
  )

/** Deletes a provider; answers whether it was set up. */
export const deleteProvider = (provider: string): Statement<boolean> =>
  writeChanges(orm.delete(m).where(eq(m.provider, provider)))
