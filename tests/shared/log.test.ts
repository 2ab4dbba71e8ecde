import { expect, test } from 'vitest'
import { createLog, createRedactor, findSecrets, type LogFields } from '../../src/shared/log'
import { readSettings, settingsSchema } from '../../src/shared/settings'

function collect(level: Parameters<typeof createLog>[0]['level'], redact = (text: string) => text) {
  const lines: Record<string, unknown>[] = []
  const log = createLog({
    level,
    redact,
    now: () => Date.UTC(2026, 0, 2),
    write: (_level, line) => lines.push(JSON.parse(line)),
  })
  return { log, lines }
}

test('L45: a line is one JSON object with time, level, message and fields', () => {
  const { log, lines } = collect('info')
  log.info('activation started', { agent: 'scout', activation: 'a1', session: 's1', step: 2 })
  expect(lines).toEqual([
    {
      at: '2026-01-02T00:00:00.000Z',
      level: 'info',
      message: 'activation started',
      agent: 'scout',
      activation: 'a1',
      session: 's1',
      step: 2,
    },
  ])
})

test.each([
  ['error', ['error']],
  ['warn', ['error', 'warn']],
  ['info', ['error', 'warn', 'info']],
  ['debug', ['error', 'warn', 'info', 'debug']],
  ['trace', ['error', 'warn', 'info', 'debug', 'trace']],
] as const)('L45: at %s these levels are written: %j', (level, written) => {
  const { log, lines } = collect(level)
  for (const each of ['error', 'warn', 'info', 'debug', 'trace'] as const) {
    log[each](each)
    expect(log.isEnabled(each)).toBe(written.some((name) => name === each))
  }
  expect(lines.map((line) => line.level)).toEqual(written)
})

test('L45: the level is a setting, info by default', () => {
  expect(readSettings({}).ROOKERY_LOG_LEVEL).toBe('info')
  expect(readSettings({ ROOKERY_LOG_LEVEL: 'trace' }).ROOKERY_LOG_LEVEL).toBe('trace')
  expect(() => readSettings({ ROOKERY_LOG_LEVEL: 'loud' })).toThrow('ROOKERY_LOG_LEVEL')
})

test('L45: an error is logged with its causes, and a value that cannot be serialized never throws', () => {
  const { log, lines } = collect('info')
  log.error('failed', { error: new Error('outer', { cause: new TypeError('inner') }) })
  expect(lines[0]?.error).toMatchObject({
    name: 'Error',
    message: 'outer',
    cause: { name: 'TypeError', message: 'inner' },
  })
  const circle: LogFields = {}
  circle.self = circle
  log.error('circle', circle)
  log.error('big', { value: 10n })
  expect(lines.map(({ message }) => message)).toEqual(['failed', 'circle', 'big'])
})

const secret = 'sk-ant-+/=very "secret" value'

test.each([
  ['a field', { key: secret }],
  ['a message of an error', { error: new Error(`401: ${secret}`) }],
  ['a cause', { error: new Error('x', { cause: new Error(secret) }) }],
  ['a list in an object', { deep: { list: ['a', `b ${secret} c`] } }],
  ['an address', { url: `https://x.test/?k=${encodeURIComponent(secret)}` }],
  ['base64', { header: `x ${btoa(`user:${secret}`.slice(5))}` }],
])('L45: a secret of the settings is left out of %s', (_where, fields) => {
  const { log, lines } = collect(
    'info',
    createRedactor([secret, undefined, 'short'], (text) => text),
  )
  log.warn(`short ${secret}`, fields)
  const text = JSON.stringify(lines)
  expect(text).not.toContain('very')
  expect(text).not.toContain(encodeURIComponent(secret))
  expect(text).not.toContain(btoa(secret).slice(0, 30))
  expect(text).toContain('[redacted]')
  expect(text).toContain('short')
})

test('L45: tokens after Bearer or Basic are redacted, whoever they belong to', () => {
  const redact = createRedactor([], (text) => text)
  expect(redact('authorization: Bearer abc.def-ghi_jkl, basic dXNlcjpwYXNz')).toBe(
    'authorization: Bearer [redacted], basic [redacted]',
  )
})

test('L45: every setting with a secret is redacted', () => {
  const names = Object.keys(settingsSchema.shape).filter((name) => /_KEY$|HEADERS$/.test(name))
  expect(names.length).toBeGreaterThan(3)
  const env = Object.fromEntries(names.map((name) => [name, `value of ${name}`]))
  const found = findSecrets({ ...env, MY_OWN_TOKEN: 'mine', ROOKERY_KEY_PREFIX: 'rookery_', N: 1 })
  expect(found).toEqual(expect.arrayContaining([...Object.values(env), 'mine']))
  expect(found).not.toContain('rookery_')
  const headers = 'authorization=Basic%20dXNlcjpwYXNz,x-team=blue'
  expect(findSecrets({ OTEL_EXPORTER_OTLP_HEADERS: headers })).toContain('Basic dXNlcjpwYXNz')
})
