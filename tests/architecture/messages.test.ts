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
  const files = Object.entries(sources).filter(([path]) => /errors\.tsx?$/.test(path))
  const naming = files
    .filter(([, source]) => /(GET|POST|PUT|PATCH|DELETE) \/api\//.test(source))
    .map(([path]) => path.replace('../../', ''))
  // of routes that no page uses
  expect(naming.sort()).toEqual([
    'src/hub/definitions/errors.ts',
    'src/hub/dialect/errors.ts',
    'src/hub/http/http-errors.ts',
    'src/hub/sessions/errors.ts',
    'src/hub/viewers/errors.ts',
  ])
})
