import fc from 'fast-check'
import { expect, test } from 'vitest'
import { joinPath } from '../../../src/mcp-servers/fetch/join-path'
import { AppError } from '../../../src/shared/errors'

test('M13: a path never leaves the base URL', () => {
  const base = new URL('https://api.example.com/v1/')
  for (const [path, to] of [
    ['/items/7', '/v1/items/7'],
    ['items', '/v1/items'],
    ['', '/v1/'],
    ['/a%20b', '/v1/a%20b'],
    ['/a@b:c', '/v1/a@b:c'],
    ['/100%25', '/v1/100%25'],
    ['/100%25zz', '/v1/100%25zz'],
    ['/gr%C3%BCn', '/v1/gr%C3%BCn'],
    ['/x?y=../z', '/v1/x?y=../z'],
  ] as const) {
    expect(joinPath(base, path, {}).href).toBe(`https://api.example.com${to}`)
  }
  for (const path of [
    '../x',
    '/a/../../x',
    '/..',
    '/./x',
    '/%2e%2e/x',
    '/.%2E/x',
    '/%252e%252e/x',
    '/%25zz/%252e%252e/x',
    '/a%2f..%2fx',
    '//evil.example.org/x',
    '/a//b',
    '\\\\evil.example.org',
    '/a%5c..%5cx',
    '/..;/x',
    '/a#b',
    '/a\nb',
    '/a%0d%0ab',
  ]) {
    expect(() => joinPath(base, path, {}), path).toThrow(/must be below the base URL/)
  }
  expect(joinPath(base, 'https://evil.example.org'.replace('//', '/'), {}).host).toBe(
    'api.example.com',
  )
})

test.each([
  '/%zz/%2e%2e/%2e%2e/tenantB/items',
  '/%/.%2e/%2E%2E/%2e%2e/admin/keys?a=1',
  '/%ff/%2e%2e/tenantB',
  '/100%',
])('M13: %j does not decode, and is refused with the reason', (path) => {
  const base = new URL('https://api.example.com/v1/tenantA')
  expect(() => joinPath(base, path, {})).toThrow('invalid percent escape')
})

test('M13: whatever a path is made of, it is refused or stays below the base URL', () => {
  const piece = fc.constantFrom(
    '.',
    '..',
    '%2e',
    '%2E',
    '.%2e',
    '%252e',
    '%25252e',
    '/',
    '%2f',
    '%252F',
    '\\',
    '%5c',
    '%',
    '%2',
    '%zz',
    '%ff',
    '%C3',
    '%00',
    '%09',
    '\t',
    ';',
    '%3b',
    'a',
    'v1',
    '@',
    ':',
    '%23',
  )
  const paths = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
  const bases = fc.constantFrom('https://api.example.com/', 'https://api.example.com/v1/tenantA/')
  fc.assert(
    fc.property(bases, paths, (address, path) => {
      const url = joinOrNull(new URL(address), path)
      if (url === null) return
      expect(url.href.startsWith(address), url.href).toBe(true)
      // What a server that decodes once more, or twice, would make of it.
      const once = decodeLoosely(url.pathname)
      for (const seen of [url.pathname, once, decodeLoosely(once)]) {
        expect(seen.split(/[/\\]/), seen).not.toContain('..')
      }
    }),
    { numRuns: 2_000 },
  )
})

function joinOrNull(base: URL, path: string): URL | null {
  try {
    return joinPath(base, path, {})
  } catch (error) {
    expect(error).toBeInstanceOf(AppError)
    return null
  }
}

const decodeLoosely = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
