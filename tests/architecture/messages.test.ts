import { expect, test } from 'vitest'

const sources = import.meta.glob<string>('../../src/**/*.{ts,tsx}', {
  query: '?raw',
  import: 'default',
  eager: true,
})

/** A text in quotes, after what begins a detail of an error. */
const details = [
  /\bpath: [^{}]*?\bmessage:\s*(['`])((?:(?!\1).)+)\1/gs,
  /\b(?:refine|regex)\([^'`]*?,\s*(['`])((?:(?!\1).)+)\1,?\s*\)/gs,
  /\baddIssue\([^'`]*?(['`])((?:(?!\1)[^{}])+)\1\s*\)/gs,
  /\binvalid\(\s*'\w+',\s*(['`])((?:(?!\1).)+)\1/gs,
]

/** A table of errors, as features declare them. */
const errorTables = /^(export )?const \w*[eE]rrors\b[^=]*= \{.*?^\}/gms

/** Settings are printed after their name and a colon, to operators only; forms write sentences. */
const isExempt = (file: string) => file === 'src/shared/settings.ts' || file.startsWith('src/web/')

function listDetails(): [file: string, text: string][] {
  return Object.entries(sources).flatMap(([path, source]) => {
    const file = path.replace('../../', '')
    if (isExempt(file)) return []
    return details.flatMap((pattern) =>
      [...source.matchAll(pattern)].map(([, , text = '']): [string, string] => [file, text]),
    )
  })
}

test('details of errors start with a capital letter, or a value, and end without a period', () => {
  const found = listDetails()
  expect(found.length).toBeGreaterThan(60)
  expect(found.filter(([, text]) => /^[a-z]|\.$/.test(text))).toEqual([])
})

test('hints of errors that pages show name no route of the API', () => {
  const tables = Object.entries(sources).flatMap(([path, source]) =>
    [...source.matchAll(errorTables)].map(([table]) => ({ path, table })),
  )
  expect(tables.length).toBeGreaterThan(60)
  const naming = tables
    .filter(({ table }) => /(GET|POST|PUT|PATCH|DELETE) \/api\//.test(table))
    .map(({ path }) => path.replace('../../', ''))
  // of routes that no page uses
  expect(naming.sort()).toEqual([
    'src/hub/agents/definition-rules.ts',
    'src/hub/dialect/paths.ts',
    'src/hub/http/errors.ts',
    'src/hub/runs/session-actions.ts',
    'src/hub/viewers/reader.ts',
  ])
})
