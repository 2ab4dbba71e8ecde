import { env } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { composeApp } from '../../../src/compose'
import {
  bodyLimitsByKind,
  declareEntry,
  type EntryRule,
  findEntryRule,
  matchEntryRule,
} from '../../../src/hub/http/guard-entry'
import { routesOf } from '../../../src/hub/http/route'
import { rateLimits } from '../../../src/shared/config'

const { app } = composeApp(env)
/** All routes of the whole hub, without what runs before every one of them. */
const routes = app.routes.filter(({ method, path }) => !(method === 'ALL' && path === '/*'))
const findUndeclared = (of: typeof routes) =>
  of.filter(({ handler }) => !findEntryRule(handler)).map(({ method, path }) => `${method} ${path}`)

/** The rule of a request, which is dispatched by the same handlers. */
function matchRule(method: string, path: string): EntryRule {
  const [matches] = app.router.match(method === 'HEAD' ? 'GET' : method, path)
  return matchEntryRule(matches.map(([[handler]]) => handler))
}

const rateOf = ({ rate }: EntryRule, method: string, query: Record<string, string> = {}) =>
  typeof rate === 'string'
    ? rate
    : rate({ req: { method, query: (name: string) => query[name] } } as never)

/** Pages whose path is the secret of an invitation or a claim. */
const linksWithSecret = new Set(['/claim/:token', '/join/:token'])

describe('the table of routes', () => {
  test('T7, T14: every route of the API, the pages, MCP, assets and sockets declares its limits', () => {
    expect(routes.length).toBeGreaterThan(200)
    expect(findUndeclared(routes)).toEqual([])
  })

  test('T7, T14: a route without a declaration is found', () => {
    const bare = { ...routes[0], method: 'GET', path: '/bare', handler: () => new Response() }
    expect(findUndeclared([...routes, bare] as typeof routes)).toEqual(['GET /bare'])
  })

  test('T7: each rule names a known class, and writes do not count as reads', () => {
    for (const { method, path, handler } of routes) {
      const rule = findEntryRule(handler)
      if (!rule) continue
      const name = rateOf(rule, method)
      expect(Object.keys(rateLimits), `${method} ${path}`).toContain(name)
      // Opening a link with a secret is an attempt to sign in, so it counts as one.
      const reads = linksWithSecret.has(path) ? ['signIn'] : ['read', 'search', 'connect']
      if (method === 'GET') expect(reads, path).toContain(name)
      // It says what a post would do, and writes nothing.
      if (method === 'POST' && /\/posts[/-]preview$/.test(path)) {
        expect(name).toBe('read')
      } else if (['POST', 'PUT', 'PATCH', 'DELETE'].includes(method)) {
        expect(['write', 'upload', 'signIn', 'register'], `${method} ${path}`).toContain(name)
      }
    }
  })

  test('T14: every body has a limit of bytes and of time', () => {
    for (const { handler } of routes) {
      const { bytesMax, readMs } = bodyLimitsByKind[findEntryRule(handler)?.body ?? 'none']
      expect(bytesMax).toBeGreaterThan(0)
      expect(bytesMax).toBeLessThanOrEqual(64 * 1024 * 1024)
      expect(readMs).toBeLessThanOrEqual(300_000)
    }
  })

  test.each([
    ['POST', '/login', 'signIn', 'secret'],
    ['GET', '/login', 'read', 'secret'],
    ['POST', '/login/link', 'signIn', 'secret'],
    ['POST', '/login/passkey', 'signIn', 'secret'],
    ['POST', '/login/passkey/options', 'write', 'form'],
    ['POST', '/login/oidc', 'write', 'form'],
    ['POST', '/login/github', 'write', 'form'],
    ['GET', '/login/oidc/callback', 'read', 'none'],
    ['POST', '/settings/sign-in/oidc', 'write', 'form'],
    ['GET', '/connect-callback', 'read', 'none'],
    ['POST', '/settings/keys', 'write', 'form'],
    ['POST', '/api/v1/accounts', 'register', 'json'],
    ['POST', '/api/v1/import', 'upload', 'upload'],
    ['POST', '/api/v1/media', 'write', 'image'],
    ['GET', '/media/x', 'read', 'none'],
    ['GET', '/media/avatars/x', 'read', 'none'],
    ['PUT', '/api/v1/me/avatar', 'write', 'image'],
    ['DELETE', '/api/v1/me/avatar', 'write', 'unneeded'],
    ['PUT', '/api/v1/accounts/x/avatar', 'write', 'image'],
    ['PUT', '/api/v1/communities/x/picture', 'write', 'image'],
    ['POST', '/settings/picture', 'write', 'image'],
    ['POST', '/m/x/picture', 'write', 'image'],
    ['POST', '/a/x/picture', 'write', 'image'],
    ['POST', '/mcp', 'read', 'json'],
    ['POST', '/mcp/hub', 'read', 'json'],
    ['POST', '/gateway/v1/messages', 'read', 'model'],
    ['GET', '/gateway/v1/models', 'read', 'model'],
    ['GET', '/git/github/acme/tools/info/refs', 'read', 'upload'],
    ['POST', '/git/github/acme/tools/git-receive-pack', 'read', 'upload'],
    ['GET', '/live/feed', 'connect', 'none'],
    ['GET', '/live/posts/x', 'connect', 'none'],
    ['GET', '/api/v1/search', 'search', 'none'],
    ['GET', '/search', 'search', 'none'],
    ['PUT', '/api/v1/credentials/x', 'write', 'json'],
    ['POST', '/credentials', 'write', 'form'],
    ['HEAD', '/', 'read', 'form'],
    ['POST', '/nothing', 'write', 'none'],
  ])('T7, T14: %s %s counts as %s with the body %s', (method, path, rate, body) => {
    const rule = matchRule(method, path)
    expect([rateOf(rule, method), rule.body]).toEqual([rate, body])
  })

  test('T7: opening a sign-in link and coming back from another service are attempts', () => {
    expect(rateOf(matchRule('GET', '/login'), 'GET', { token: 'x' })).toBe('signIn')
    for (const query of [{ code: 'x' }, { error: 'x' }]) {
      const rule = matchRule('GET', '/login/github/callback')
      expect(rateOf(rule, 'GET', query)).toBe('signIn')
      const connecting = matchRule('GET', '/connect-callback')
      expect(rateOf(connecting, 'GET', query)).toBe('write')
    }
  })
})

test('T7: a route of the API counts as a read or a write by its method, or in the class that it names', () => {
  const declaration = {
    path: '/bare',
    summary: 'Bare',
    access: 'open',
    answer: z.object({}),
    handle: async () => ({}),
  } as const
  const route = routesOf('hub')
  expect(route({ ...declaration, method: 'get' }).rate).toBe('read')
  expect(route({ ...declaration, method: 'delete' }).rate).toBe('write')
  expect(route({ ...declaration, method: 'get', rate: 'search' }).rate).toBe('search')
})

test('T7: a declared rule belongs to its handler alone', () => {
  const rule: EntryRule = { rate: 'read', body: 'none' }
  const handler = declareEntry(rule, () => new Response())
  expect(findEntryRule(handler)).toBe(rule)
  expect(findEntryRule(() => new Response())).toBeUndefined()
})
