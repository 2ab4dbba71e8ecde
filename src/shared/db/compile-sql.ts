import { is, Param, Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { SQLiteAsyncDialect } from 'drizzle-orm/sqlite-core'

/** SQL text with numbered parameters, ready to bind. */
export interface CompiledSql {
  sql: string
  params: unknown[]
}

/** A placeholder for drizzle, which leaves those to `compileSql`, also where it writes values into the text. */
class SharedTable extends Placeholder {
  constructor(
    override readonly name: string,
    readonly columns: string,
    readonly of: SQLWrapper,
    readonly build: () => SQL,
  ) {
    super(name)
  }
}

/**
 * Names a table, for FROM, that expressions of one statement share. Its query stands at the head of the statement once and
 * runs at most once, however many expressions read it. D1 takes at most 100 KB of text, and workerd keeps 1 MiB of
 * compiled statements (docs/decisions/database.md).
 *
 * @param name that no table and no other common table expression has
 * @param columns of the query, as `id, role`
 * @param of what the query depends on beside constants; with another value it is another table
 * @param build the query
 * @throws while it is compiled, when `of` depends on a row of the statement
 */
export const sharedTable = (name: string, columns: string, of: SQLWrapper, build: () => SQL): SQL =>
  sql`${new SharedTable(name, columns, of, build)}`

const dialect = new SQLiteAsyncDialect()

/** Whether a name needs no quotes, which are four characters in the JSON that is sent. */
const isPlain = (name: string): boolean =>
  /^[a-z_]\w*$/i.test(name) && !sqliteKeywords.has(name.toLowerCase())

type EscapeParam = (index: number, value: unknown) => string

const quoteWhereNeeded = (name: string): string => (isPlain(name) ? name : dialect.escapeName(name))

const render = (
  query: SQLWrapper,
  escapeParam: EscapeParam,
  escapeName = quoteWhereNeeded,
): string => {
  const config = {
    // Declared as internal, and needed by every query that names a column.
    casing: Reflect.get(dialect, 'casing'),
    escapeName,
    escapeString: (text: string) => dialect.escapeString(text),
    escapeParam,
  }
  return query.getSQL().toQuery(config as Parameters<SQL['toQuery']>[0]).sql
}

/** Text that is the same for expressions with the same values. @throws for one that depends on a row */
const describe = (expression: SQLWrapper): string =>
  render(
    expression,
    (_index, value) => findPlaceholder(value)?.name ?? JSON.stringify(value),
    (name) => {
      throw new Error(`A shared table stands before all rows, so it cannot depend on ${name}.`)
    },
  )

/**
 * SQLite reads a limit that is a parameter alone while it compiles, to plan with it, and so compiles the statement
 * again for each value that is bound: several ms instead of 0.05 for a long one (`sqlite3ExprIsInteger`, since 3.48).
 */
const bareLimit = /\blimit (\?\d+)/gi

/** Compiles a query. A placeholder that stands in several places is one parameter: D1 takes at most 100. */
export function compileSql(query: SQLWrapper): CompiledSql {
  const params: unknown[] = []
  const numbers = new Map<string, number>()
  const tables = new Map<string, { name: string; definition: string }>()

  const escapeParam: EscapeParam = (_index, value) => {
    if (value instanceof SharedTable) return nameTable(value)
    const placeholder = findPlaceholder(value)
    const known = placeholder && numbers.get(placeholder.name)
    if (known) return `?${known}`
    params.push(value)
    if (placeholder) numbers.set(placeholder.name, params.length)
    return `?${params.length}`
  }
  const nameTable = ({ name, columns, of, build }: SharedTable): string => {
    const key = `${name} ${describe(of)}`
    const known = tables.get(key)
    if (known) return known.name
    const sameName = [...tables.keys()].filter((each) => each.startsWith(`${name} `)).length
    const own = sameName === 0 ? name : `${name}_${sameName + 1}`
    const definition = `${own} (${columns}) AS MATERIALIZED (${render(build(), escapeParam)})`
    tables.set(key, { name: own, definition })
    return own
  }

  const text = render(query, escapeParam)
  const definitions = [...tables.values()].map(({ definition }) => definition)
  return { sql: addTables(text, definitions).replace(bareLimit, 'limit ($1 + 0)'), params }
}

/** Puts definitions of common table expressions before those that a statement begins with. */
function addTables(text: string, definitions: string[]): string {
  if (definitions.length === 0) return text
  const [head, recursive = ''] = /^\s*WITH\s+(RECURSIVE\s+)?/i.exec(text) ?? ['']
  const rest = text.slice(head.length)
  return `WITH ${recursive}${definitions.join(', ')}${head === '' ? ' ' : ', '}${rest}`
}

/** The placeholder that a parameter is; null for a value. */
export function findPlaceholder(value: unknown): Placeholder | null {
  const inner = is(value, Param) ? value.value : value
  return is(inner, Placeholder) ? inner : null
}

/** The words that SQLite's grammar knows, which names have to be quoted for: https://sqlite.org/lang_keywords.html */
const sqliteKeywords: ReadonlySet<string> = new Set(
  `abort action add after all alter always analyze and as asc attach autoincrement before begin between by cascade case
  cast check collate column commit conflict constraint create cross current current_date current_time
  current_timestamp database default deferrable deferred delete desc detach distinct do drop each else end escape
  except exclude exclusive exists explain fail filter first following for foreign from full generated glob group groups
  having if ignore immediate in index indexed initially inner insert instead intersect into is isnull join key last
  left like limit match materialized natural no not nothing notnull null nulls of offset on or order others outer over
  partition plan pragma preceding primary query raise range recursive references regexp reindex release rename replace
  restrict returning right rollback row rows savepoint select set table temp temporary then ties to transaction trigger
  unbounded union unique update using vacuum values view virtual when where window with without`.split(
    /\s+/,
  ),
)
