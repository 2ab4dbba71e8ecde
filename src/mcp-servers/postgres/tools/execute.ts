import { defineTool } from '../../tool/define-tool'
import { checkWriteStatement } from '../check-statement'
import { statementInput } from '../inputs'
import { runOnDatabase } from '../run-on-database'

export const execute = defineTool({
  name: 'execute',
  description:
    'Change a PostgreSQL database with one statement in a transaction of its own, such as INSERT, ' +
    'UPDATE, DELETE or CREATE TABLE. Returns the number of affected rows, and the first rows of ' +
    'RETURNING. After an unclear failure check with postgres_query before you repeat it.',
  input: statementInput,
  tier: 'destructive',
  grant: { shape: 'postgres:*:write', of: ({ database }) => `postgres:${database}:write` },
  service: ({ database }) => database,
  isIdempotent: false,
  isSequential: true,
  doing: 'changing a database',
  async run({ input, outside, signal }) {
    checkWriteStatement(input.sql)
    const done = await runOnDatabase(outside, { ...input, isReadOnly: false, signal })
    const { command, affected, columns, rows, note } = done
    const returned = columns.length > 0 ? { columns, rows } : {}
    return { command, affected, ...returned, ...(note && { note }) }
  },
})
