import { expect, test } from 'vitest'
import { explainError } from '../../../src/mcp-servers/servers/postgres-statement'

const login = {
  service: 'main',
  hostname: 'db.example.com',
  port: 5432,
  database: 'main',
  user: 'u',
  password: 'p',
  isPlain: false,
  scrub: (text: string) => text,
}
const statement = { sql: 'SELECT 1 / 0', isReadOnly: false }
const explain = (name: string, fields: object) =>
  explainError(login, statement, Object.assign(new Error('division by zero'), { name }, fields))

/** As the class is called, and as minifying calls it. */
test.each(['PostgresError', 'e', 'Error', ''])(
  'M14: an error of the server is told by its fields, when its class is called "%s"',
  (name) => {
    const answer = explain(name, { severity: 'ERROR', code: '22012' })
    expect([answer.code, answer.message]).toEqual(['VALIDATION', 'ERROR 22012: division by zero.'])
    const refused = explain(name, { severity: 'FATAL', code: '28P01' })
    expect(refused.message).toContain('did not accept its credential (28P01)')
  },
)

test.each([
  ['a lost connection', { code: 'CONNECTION_CLOSED' }],
  ['a code of five letters', { code: 'EPIPE' }],
  ['a code that is no text', { code: 32, severity: 'ERROR' }],
  ['a severity that is no text', { code: '22012', severity: 1 }],
  ['no code', {}],
])('M14: %s is an error of the connection', (_what, fields) => {
  expect(explain('PostgresError', fields).message).toContain('could not be reached')
})
