import fc from 'fast-check'
import { expect, test } from 'vitest'
import { joinPath } from '../../../src/mcp-servers/fetch/join-path'
import { readGitRequest } from '../../../src/mcp-servers/git-proxy/create-git-routes'

const read = (path: string) =>
  readGitRequest(new Request(`https://hub.example/git/${path}/info/refs?service=git-upload-pack`))

test.each([
  ['github/Octo/Parser', 'octo/parser'],
  ['github/Octo/Parser.GIT', 'octo/parser'],
  ['forge/team/App', 'team/App'],
  ['forge/team/app', 'team/app'],
  ['forge/Team/App.git', 'Team/App'],
  ['forge/team/a..b', null],
  ['forge/team/app.git.git', null],
  ['forge/team/.git', null],
  ['forge/team/app.', null],
  ['forge/team.git/app', null],
  ['forge/./app', null],
  ['forge/team/../other/app', 'other/app'],
  ['forge/team/%2e%2e/other/app', 'other/app'],
  ['forge/team//app', null],
  ['forge/team/app/', null],
  ['forge/team%2Fapp', null],
  ['forge/team/%61pp', null],
  ['forge/team/\u212Aapp', null],
  ['forge/team/app%00', null],
  ['forge/team/app;x', null],
  ['Forge/team/app', null],
])('X11: %s is the repository %s', (path, repository) => {
  expect(read(path)?.repository ?? null).toBe(repository)
})

test('X11: the repository that is checked is the one that is requested, letter by letter', () => {
  const piece = fc.constantFrom(
    'a',
    'A',
    'app',
    'App',
    '.git',
    '.GIT',
    '.',
    '..',
    '-',
    '_',
    '/',
    '//',
    '%2e',
    '%2F',
    '%41',
    '\\',
    ';',
    '@',
    ':',
    '?',
    '#',
    '%00',
    '\u0130',
    '\u017F',
    '\u212A',
    'é',
    ' ',
    '~',
    '*',
  )
  const path = fc.array(piece, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(''))
  const base = fc.constantFrom('https://git.example', 'https://git.example:8443/sub/path/')
  const service = fc.constantFrom('github', 'forge')
  fc.assert(
    fc.property(service, path, path, base, (name, owner, file, url) => {
      const asked = read(`${name}/${owner}/${file}`)
      if (!asked) return
      const root = new URL(url)
      const requested = joinPath(root, asked.path, asked.query)
      const before = root.pathname.replace(/\/$/, '')
      expect(requested.origin).toBe(root.origin)
      expect(requested.pathname).toBe(`${before}/${asked.repository}.git/info/refs`)
      expect(requested.search).toBe('?service=git-upload-pack')
      // Named so, it is the same again.
      expect(read(`${asked.service}/${asked.repository}`)?.repository).toBe(asked.repository)
    }),
    { numRuns: 5_000 },
  )
})
