import { expect, test } from 'vitest'

const sources = import.meta.glob<string>('../../src/**/*.{ts,tsx}', {
  query: '?raw',
  import: 'default',
  eager: true,
})

test('L45: only src/shared/log.ts writes to the console', () => {
  const files = Object.entries(sources)
  expect(files.length).toBeGreaterThan(150)
  const writing = files.filter(([, source]) => /\bconsole\s*[.[]/.test(source))
  expect(writing.map(([path]) => path.replace('../../', ''))).toEqual(['src/shared/log.ts'])
})
