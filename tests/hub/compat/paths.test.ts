import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { composeApp } from '../../../src/compose'
import { apiRoutes } from '../../../src/hub/app'
import { apiBase } from '../../../src/hub/http/mount-routes'
import { adminRoutes } from '../../../src/mcp-servers/admin/admin-routes'
import { bodyLimits } from '../../../src/shared/config'
import { adminKey } from '../create-test-hub'
import { type CompatHub, createCompatHub } from './create-compat-hub'

let compat: CompatHub
beforeAll(() => {
  compat = createCompatHub()
})

const toPattern = (path: string) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`)

/** Routes that are both a page or a form and a route of the API. A form or `Accept: text/html` gets the page. */
const shared = [
  'GET /activations/:id',
  'GET /admin/log',
  'GET /agents',
  'GET /agents/:name/why-quiet',
  'GET /agents/new',
  'GET /approvals',
  'GET /audit',
  'GET /audit/:id',
  'GET /budgets',
  'GET /credentials',
  'GET /inbox',
  'GET /models',
  'GET /runners',
  'GET /search',
  'GET /tools',
  'POST /approvals',
  'POST /approvals/:id',
  'POST /models/test',
  'POST /runners/keys',
]

describe('H3: routes of the API at /', () => {
  test('H3: the routes that a page and the API share are these', () => {
    const { app } = composeApp(env)
    const api = [...apiRoutes, ...adminRoutes].map(({ method, path }) => ({
      ...{ method: method.toUpperCase(), path },
    }))
    const pages = app.routes.filter(
      ({ method, path }) => method !== 'ALL' && !path.startsWith(apiBase),
    )
    const both = pages.filter(({ method, path }) =>
      api.some((route) => route.method === method && toPattern(route.path).test(path)),
    )
    expect([...new Set(both.map(({ method, path }) => `${method} ${path}`))].sort()).toEqual(shared)
  })

  test('H3: a shared path answers with the page or with the API, and says that it varies', async () => {
    const key = adminKey
    for (const path of ['/search?q=a', '/budgets', '/audit', '/approvals', '/inbox']) {
      for (const accept of [undefined, '*/*', 'application/json']) {
        const headers: Record<string, string> = accept ? { accept } : {}
        const api = await compat.send(path, { key, headers })
        expect([api.status, api.body?.success], `${path} ${accept}`).toEqual([200, true])
        expect(api.headers.get('vary'), path).toContain('Accept')
      }
      const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
      const page = await compat.send(path, { key, headers })
      expect(page.text.slice(0, 15), path).toMatch(/^<!doctype html/i)
      expect(page.headers.get('vary'), path).toContain('Accept')
    }
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const sent = await compat.send('/approvals/none', { method: 'POST', headers: form })
    expect(sent.body).toBeNull()
    const json = await compat.send('/approvals/none', { key, body: { decision: 'deny' } })
    expect(json.body).toMatchObject({ success: false, code: 'NOT_FOUND' })
  })

  test('H3: other pages stay pages, and unknown paths stay unknown', async () => {
    expect((await compat.send('/')).text).toMatch(/^<!doctype html/i)
    expect((await compat.send('/m/general')).text).toMatch(/^<!doctype html/i)
    expect((await compat.send('/nothing')).status).toBe(404)
    expect((await compat.send('/posts', { headers: { accept: 'text/html' } })).status).toBe(404)
    expect((await compat.send('/feed')).body.success).toBe(true)
  })

  test('T7, T14: a route at / has the limits of the API', async () => {
    const { key } = await compat.join('limited')
    const long = await compat.send('/posts', {
      key,
      body: { content: 'x'.repeat(bodyLimits.jsonBytesMax) },
    })
    expect(long.body).toMatchObject({ success: false, code: 'TOO_LARGE' })
    const text = await compat.send('/posts', {
      ...{ key, method: 'POST', headers: { 'content-type': 'application/x-unknown' } },
      body: {},
    })
    expect(text.body.code).toBe('UNSUPPORTED_MEDIA')
  })

  test('T7: says after how many seconds to retry in every spelling', async () => {
    const headers = { 'x-client-address': '2001:db8::99' }
    let answer = await compat.send('/agents/register', { body: { name: 'burst0' }, headers })
    for (let count = 1; answer.status === 201 && count < 60; count++) {
      answer = await compat.send('/agents/register', { body: { name: `burst${count}` }, headers })
    }
    const seconds = Number(answer.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(0)
    expect(answer.body).toMatchObject({
      ...{ success: false, code: 'RATE_LIMITED', message: answer.body.error },
      ...{ retryAfter: seconds, retry_after: seconds, retry_after_seconds: seconds },
      ...{ retryAfterSeconds: seconds, retry_after_minutes: Math.ceil(seconds / 60) },
    })
  })
})

describe('H3: with compat off, every answer is as before', () => {
  test('H3: no route at /, no twin, no alias, no service route, no toggle', async () => {
    const { native } = compat
    const key = (await compat.join('purist')).key
    const read = async (path: string, init?: RequestInit) => {
      const response = await native.fetch(path, init)
      return { status: response.status, text: await response.text() }
    }
    expect((await read('/posts')).status).toBe(404)
    expect((await read('/search?q=a')).text).toMatch(/^<!doctype html/i)
    const made = await native.call('/posts', { key, body: { community: 'general', title: 'Pure' } })
    expect(Object.keys(made.body)).toEqual(['success', 'post'])
    expect(Object.keys(made.body.post).join()).not.toMatch(/[A-Z]/)
    const list = await native.call('/posts?page=9&sort=new')
    expect(Object.keys(list.body)).toEqual(['success', 'posts', 'has_more', 'next_cursor'])
    const up = `/posts/${made.body.post.id}/upvote`
    const voter = (await compat.join('purist2')).key
    for (let count = 0; count < 2; count++) {
      expect((await native.call(up, { key: voter, method: 'POST' })).body.score).toBe(1)
    }
    const create = { key: adminKey, body: { label: 'x' } }
    expect((await native.call('/agents/purist/service-keys', create)).status).toBe(404)
    expect((await native.call('/posts', { key, body: { submolt: 'm/general' } })).status).toBe(400)
  })
})
