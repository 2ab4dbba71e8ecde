import { postgresErrors } from './errors'

/**
 * The first words that a read accepts. The read-only transaction prevents writes; this list excludes
 * statements that would leave it, use another protocol (COPY) or start programs on the server.
 */
const reading = ['select', 'with', 'values', 'table', 'show', 'explain']

/** Statements that end the transaction, outlive it on a pooled connection, or use another protocol. */
const notWriting = [
  ...['begin', 'start', 'commit', 'end', 'rollback', 'abort', 'savepoint', 'release', 'prepare'],
  ...['set', 'reset', 'discard', 'copy', 'declare', 'listen'],
]

/** Checks that a statement reads. @throws VALIDATION */
export function checkReadStatement(sql: string): void {
  if (!reading.includes(firstWord(sql))) throw postgresErrors.notReading(reading)
}

/** Checks that a statement can run in a transaction of its own. @throws VALIDATION */
export function checkWriteStatement(sql: string): void {
  const word = firstWord(sql)
  if (word === '' || notWriting.includes(word)) throw postgresErrors.notWriting(word)
}

/** PostgreSQL's white space, brackets and line comments, which also end at a carriage return. */
const skipped = /[ \t\n\r\f\v(]+|--[^\n\r]*/y

/** Returns the first word of a statement in lower case, after comments and brackets. */
export function firstWord(sql: string): string {
  let at = 0
  for (let from = -1; at !== from; ) {
    from = at
    skipped.lastIndex = at
    at += skipped.exec(sql)?.[0].length ?? 0
    at = skipComment(sql, at)
  }
  return (/^[a-z_]+/i.exec(sql.slice(at, at + 32))?.[0] ?? '').toLowerCase()
}

/** Returns the end of a block comment, which can be nested; an unclosed one ends with the text. */
function skipComment(sql: string, start: number): number {
  if (!sql.startsWith('/*', start)) return start
  let depth = 0
  for (const mark of sql.slice(start).matchAll(/\/\*|\*\//g)) {
    depth += mark[0] === '/*' ? 1 : -1
    if (depth === 0) return start + mark.index + 2
  }
  return sql.length
}
