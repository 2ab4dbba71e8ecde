import type { D1Database } from '@cloudflare/workers-types'

/** Tables whose rows somebody may not read. */
const readsTexts = /\b(?:FROM|JOIN)\s+"?(?:posts|comments|search_index)"?(?![\w.])/i
/** Names of communities, and what says how much is spent there. */
const readsNames = /\b(?:FROM|JOIN)\s+"?communities"?(?![\w.])/i
const readsMoney = /\b(?:FROM|JOIN)\s+"?(?:budgets|usage_days|usage_events)"?(?![\w.])/i
const marker = /\/\* (?:readable|unfiltered: [a-z ]+) \*\//

/**
 * Whether a statement reads posts or comments, or names of communities with their money, and names neither
 * `canReadSql` nor a reason to do without.
 */
export const isUnfiltered = (sql: string): boolean =>
  (readsTexts.test(sql) || (readsNames.test(sql) && readsMoney.test(sql))) && !marker.test(sql)

/** Statements over posts and comments that ran in this test file. */
export const seenStatements = new Set<string>()

/**
 * Returns the database of a hub under test, which refuses statements over posts and comments that say
 * nothing about who reads them. So every test of the hub checks the statements that it runs.
 */
export const onlyReadable = (d1: D1Database): D1Database =>
  ({
    prepare: (sql: string) => {
      if (readsTexts.test(sql)) seenStatements.add(sql)
      if (isUnfiltered(sql))
        throw new Error(`Reads posts, comments or budgets without canReadSql: ${sql}`)
      return d1.prepare(sql)
    },
    batch: (statements: Parameters<D1Database['batch']>[0]) => d1.batch(statements),
  }) as D1Database
