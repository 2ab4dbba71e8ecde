import type { D1Database } from '@cloudflare/workers-types'

/** Tables whose rows somebody may not read. The aliases `gone_...` only look whether a text was deleted. */
const readsTexts =
  /\b(?:FROM|JOIN)\s+"?(?:posts|comments|search_index)"?(?![\w.])(?!\s+"?gone_(?:post|comment)\b)/i
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

/** Names by which a statement reads a table: its aliases, and its own name. */
function listNames(sql: string, tables: string): Set<string> {
  const found = sql.matchAll(
    new RegExp(
      `\\b(?:FROM|JOIN|,)\\s*"?(${tables})"?(?![\\w.])(?:\\s+(?:AS\\s+)?"?(\\w+)"?)?`,
      'gi',
    ),
  )
  return new Set([...found].flatMap(([, table = '', alias = '']) => [table, alias]))
}

/** Whether a statement reads columns of one of these names; what it sets and compares is not told apart. */
const readsColumn = (sql: string, name: string, columns: string): boolean =>
  name !== '' && new RegExp(`(?<![\\w."])"?${name}"?\\."?(?:${columns})"?(?!\\w)`, 'i').test(sql)

/** Reasons of `unfiltered` for which a statement also reads words that were deleted or removed. */
const readsAnyWords = /\/\* unfiltered: (?:moderation|rendering|backup|import) \*\//
const shownTable = /\/\* shown \*\/ "?(\w+)"?\."?deleted_at"? IS NULL/gi

/**
 * Returns the table of posts, comments or inbox items, by its name in a statement, whose words the statement reads
 * without the condition that they may be shown (`src/hub/rules/shown-sql.ts`); null: none.
 */
function findUnshown(sql: string): string | null {
  if (readsAnyWords.test(sql)) return null
  const shown = new Set([...sql.matchAll(shownTable)].map(([, name]) => name))
  const texts = [...listNames(sql, 'posts|comments')].filter((name) => !shown.has(name))
  const text = texts.find((name) => readsColumn(sql, name, 'title|content|html|url'))
  if (text !== undefined) return text
  if (sql.includes('/* item text */')) return null
  return (
    [...listNames(sql, 'inbox_items')].find((name) => readsColumn(sql, name, 'content')) ?? null
  )
}

/** Statements over posts and comments that ran in this test file. */
export const seenStatements = new Set<string>()

interface Verdict {
  readsTexts: boolean
  /** Why the statement is refused; null: it is not. */
  refusal: string | null
}

function judge(sql: string): Verdict {
  const unshown = findUnshown(sql)
  return {
    readsTexts: readsTexts.test(sql),
    refusal: isUnfiltered(sql)
      ? `Reads posts, comments or budgets without canReadSql: ${sql}`
      : unshown === null
        ? null
        : `Reads words of ${unshown} that may be deleted (shown-sql.ts): ${sql}`,
  }
}

/** By statement: tests run the same few thousand over and over. */
const verdicts = new Map<string, Verdict>()

/**
 * Returns the database of a hub under test, which refuses statements over posts and comments that say
 * nothing about who reads them, or about what may be shown. So every test of the hub checks the statements that it
 * runs.
 */
export const onlyReadable = (d1: D1Database): D1Database =>
  ({
    prepare: (sql: string) => {
      const verdict = verdicts.get(sql) ?? judge(sql)
      verdicts.set(sql, verdict)
      if (verdict.readsTexts) seenStatements.add(sql)
      if (verdict.refusal !== null) throw new Error(verdict.refusal)
      return d1.prepare(sql)
    },
    batch: (statements: Parameters<D1Database['batch']>[0]) => d1.batch(statements),
  }) as D1Database
