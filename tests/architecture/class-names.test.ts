import { expect, test } from 'vitest'

const sources = import.meta.glob<string>('../../src/**/*.{ts,tsx,js}', {
  query: '?raw',
  import: 'default',
  eager: true,
})

/** Names of errors that standards give, and names that a class or package writes as a text. */
const written = [
  'AbortError',
  'TimeoutError',
  'NotAllowedError',
  'InvalidStateError',
  'AI_InvalidResponseDataError',
  'AI_JSONParseError',
  'AI_TypeValidationError',
]
const ownName = /override readonly name = '\w+'/
const nameOfError = /['"](?:\w+_)?[A-Z]\w*(?:Error|Exception|Fault)['"]/g

/** Lines of code that decide on the name of a class, which minifying rewrites. */
const findDecisions = (source: string): string[] =>
  source.split('\n').filter((line) => {
    if (/^\s*(?:\*|\/\/|\/\*)/.test(line) || ownName.test(line)) return false
    const names = line.match(nameOfError) ?? []
    return (
      /\.constructor\b/.test(line) || names.some((name) => !written.includes(name.slice(1, -1)))
    )
  })

test('nothing decides on the name of a class that minifying rewrites', () => {
  const found = Object.entries(sources).flatMap(([path, source]) =>
    findDecisions(source).map((line) => `${path}: ${line.trim()}`),
  )
  expect(Object.keys(sources).length).toBeGreaterThan(150)
  expect(found).toEqual([])
})

test.each([
  "error.name === 'PostgresError' &&",
  "['PostgresError'].includes(error.name)",
  "error.constructor.name === 'X'",
  "case 'HttpException':",
])('it is seen: %s', (line) => {
  expect(findDecisions(line)).toEqual([line])
})
