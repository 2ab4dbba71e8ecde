import { AppError } from '../../errors'

/**
 * The read-only transaction is what stops writes. This stops statements that would leave it, that
 * speak another protocol (COPY) or that start programs on the server.
 */
const reading = ['select', 'with', 'values', 'table', 'show', 'explain']

/** These would end the transaction, outlive it on a pooled connection, or speak another protocol. */
const notWriting = [
  ...['begin', 'start', 'commit', 'end', 'rollback', 'abort', 'savepoint', 'release', 'prepare'],
  ...['set', 'reset', 'discard', 'copy', 'declare', 'listen'],
]

export function mayRead(sql: string): void {
  const word = firstWord(sql)
  if (reading.includes(word)) return
  throw new AppError('VALIDATION', `This tool runs ${reading.join(', ').toUpperCase()} only.`, {
    hint: 'To change something use postgres_execute, which needs a grant of its own.',
  })
}

export function mayWrite(sql: string): void {
  const word = firstWord(sql)
  if (word !== '' && !notWriting.includes(word)) return
  throw new AppError(
    'VALIDATION',
    `${word.toUpperCase() || 'An empty statement'} is not possible here.`,
    {
      hint: 'Each call is one statement in a transaction of its own, which the hub begins and ends.',
    },
  )
}

/** PostgreSQL's own white space; a comment to the end of the line ends at a carriage return too. */
const skipped = /[ \t\n\r\f\v(]+|--[^\n\r]*/y

/** The word that a statement begins with, in small letters, behind comments and brackets. */
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

/** Comments nest. One that never ends leaves no word. */
function skipComment(sql: string, start: number): number {
  if (!sql.startsWith('/*', start)) return start
  let depth = 0
  for (const mark of sql.slice(start).matchAll(/\/\*|\*\//g)) {
    depth += mark[0] === '/*' ? 1 : -1
    if (depth === 0) return start + mark.index + 2
  }
  return sql.length
}
