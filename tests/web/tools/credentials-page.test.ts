import { env, exports } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { adminRoutes } from '../../../src/mcp-servers/admin/admin-routes'
import { createTestHub } from '../../hub/create-test-hub'
import { adminKey, call, createAccount } from '../../support/cast'

const secret = 'page-secret-0123456789'
let cookie = ''
let theirs = ''

const ours = { 'sec-fetch-site': 'same-origin', origin: 'http://hub.test' }
const send = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  exports.default.fetch(`http://hub.test${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      cookie,
      ...ours,
      ...headers,
    },
    body: new URLSearchParams(fields).toString(),
    redirect: 'manual',
  })
const get = (path: string, as = cookie) =>
  exports.default.fetch(`http://hub.test${path}`, { headers: { cookie: as }, redirect: 'manual' })
const signIn = async (key: string) =>
  (await send('/login', { key, next: '/' }, { cookie: '' })).headers
    .get('set-cookie')
    ?.split(';')[0] ?? ''
const stored = (name: string) =>
  env.DB.prepare(
    'SELECT ciphertext, variable, agent, community, service FROM credentials WHERE name = ?',
  )
    .bind(name)
    .first<{ ciphertext: string | null; variable: string | null; agent: string | null }>()

/** Follows a form's redirect to the page. */
const follow = async (response: Response, as = cookie) => {
  expect(response.status).toBe(303)
  return get(response.headers.get('location') ?? '', as)
}
const rejected: [Record<string, string>, string, string][] = [
  [{ agent: 'nobody-here' }, 'agent', 'NOT_FOUND'],
  [{ community: 'attics' }, 'community', 'NOT_FOUND'],
  [{ server: 'hub' }, 'server', 'NO_CREDENTIALS'],
  [{ service: 'Git Hub' }, 'service', 'INVALID'],
  [{ value: '' }, 'value', 'INVALID'],
  [{ value: 'short' }, 'value', 'TOO_SHORT'],
  [{ value: `${secret}-ü` }, 'value', 'NOT_ASCII'],
  [{ server: 'aws', service: 'aws' }, 'value', 'FORMAT'],
  [{ value: 'env:PATH' }, 'value', 'VARIABLE_PREFIX'],
  [{ value: 'env:ROOKERY_SECRET_NONE' }, 'value', 'NO_VARIABLE'],
]
const github = { name: 'gh-key', server: 'github', service: 'github', value: secret }

beforeAll(async () => {
  cookie = await signIn(adminKey)
  theirs = await signIn((await createAccount('mira', 'human')).key)
  await createAccount('wren')
})

describe('credentials by the page', () => {
  test('M5: an admin sets one; no page and no API ever shows its value', async () => {
    const response = await send('/credentials', {
      ...github,
      agent: '@wren',
      community: 'm/general',
    })
    expect([response.status, response.headers.get('location')]).toEqual([
      303,
      '/credentials#credential-gh-key',
    ])
    expect(await stored('gh-key')).toMatchObject({ agent: 'wren', variable: null })
    const page = await get('/credentials')
    const html = await page.text()
    expect(html).toContain('id="credential-gh-key"')
    expect(html).toContain('github / github')
    expect(html).toContain('href="/a/wren"')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(page.headers.get('server-timing')).toContain('round_trips=1 ')
    const listed = await call('GET', '/api/v1/credentials', { key: adminKey })
    for (const text of [html, JSON.stringify(listed.body), await (await get('/')).text()]) {
      expect(text).not.toContain(secret)
    }
  })

  test('M5: a name that is taken is not overwritten, and the value is not shown again', async () => {
    const before = await stored('gh-key')
    const response = await send('/credentials', { ...github, value: `${secret}-other` })
    expect(response.headers.get('location')).toBe('/credentials?field=name&error=TAKEN')
    expect(await response.text()).toBe('')
    const html = await (await follow(response)).text()
    expect(html).toContain('A credential with this name already exists.')
    expect(html).toMatch(/<details[^>]* open[^>]*><summary>Add a credential/)
    expect(html).not.toContain(secret)
    expect(await stored('gh-key')).toEqual(before)
  })

  test('M5: rotating keeps what it is for; deleting deletes it', async () => {
    const before = await stored('gh-key')
    const short = await send('/credentials/rotate', { name: 'gh-key', new_value: 'x' })
    expect(short.headers.get('location')).toBe('/credentials?field=new_value&error=TOO_SHORT')
    expect(await (await follow(short)).text()).toContain('The value is too short.')
    expect(await stored('gh-key')).toEqual(before)
    await send('/credentials/rotate', { name: 'gh-key', new_value: `${secret}-2` })
    const after = await stored('gh-key')
    expect(after).toMatchObject({ agent: 'wren', community: 'general', service: 'github' })
    expect(after?.ciphertext).not.toBe(before?.ciphertext)
    const unknown = await send('/credentials/rotate', { name: 'nope', new_value: secret })
    expect(unknown.headers.get('location')).toBe('/credentials?field=name&error=NOT_FOUND')
    await send('/credentials/delete', { name: 'gh-key' })
    expect(await stored('gh-key')).toBeNull()
    expect((await send('/credentials/delete', { name: 'gh-key' })).status).toBe(404)
  })

  test('M5: what is wrong is said in words, and a secret of the Worker is lent by its name', async () => {
    const wrong = { ...github, name: 'Wrong Name' }
    const html = await (await follow(await send('/credentials', wrong))).text()
    expect(html).toContain('lower case letters, digits and dashes, starting with a letter')
    for (const [fields, field, code] of rejected) {
      const response = await send('/credentials', { ...github, ...fields })
      const location = response.headers.get('location')
      expect(location, code).toBe(`/credentials?field=${field}&error=${code}`)
      const page = await (await follow(response)).text()
      expect(page).toContain('role="alert"')
      expect(page).not.toContain('internal error')
      expect(page).not.toContain(secret)
      expect(await stored('gh-key')).toBeNull()
    }
    const nowhere = await get('/credentials?field=community&error=NOT_FOUND')
    expect(await nowhere.text()).toContain('There is no such community.')
    const made = await get('/credentials?field=constructor&error=%3Cscript%3E')
    expect(await made.text()).not.toContain('script&gt;')
    const lent = { name: 'weather-key', server: 'http', service: 'weather' }
    await send('/credentials', { ...lent, value: 'env:ROOKERY_SECRET_WEATHER' })
    expect(await stored('weather-key')).toMatchObject({ variable: 'ROOKERY_SECRET_WEATHER' })
    expect(await (await get('/credentials')).text()).toContain('env:ROOKERY_SECRET_WEATHER')
  })

  test('M5: only an admin, and only from a page of this hub', async () => {
    expect((await get('/credentials', theirs)).status).toBe(403)
    expect((await get('/credentials', '')).headers.get('location')).toMatch(/^\/login\?next=/)
    const elsewhere = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.test' }
    const rotated = { name: 'weather-key', new_value: secret }
    const before = await stored('weather-key')
    const senders: Record<string, string>[] = [{ cookie: theirs }, { cookie: '' }, elsewhere]
    for (const headers of senders) {
      const code = headers.cookie === '' ? 'UNAUTHORIZED' : 'FORBIDDEN'
      for (const [path, fields] of [
        ['/credentials', github],
        ['/credentials/rotate', rotated],
      ] as const) {
        const response = await send(path, fields, headers)
        const location = response.headers.get('location')
        expect([response.status, location]).toEqual([303, `/credentials?field=form&error=${code}`])
      }
      for (const path of ['/credentials/delete', '/credentials/services']) {
        const { status } = await send(path, { name: 'weather-key', server: 'http' }, headers)
        expect(status).toBe(code === 'FORBIDDEN' ? 403 : 401)
      }
    }
    const refused = await send('/credentials', github, { cookie: theirs })
    expect((await follow(refused, theirs)).status).toBe(403)
    expect([await stored('gh-key'), await stored('weather-key')]).toEqual([null, before])
  })
})

test('M5: pages have no route that takes the value of a credential', async () => {
  const { fetch } = createTestHub()
  for (const path of ['/credentials', '/credentials/rotate']) {
    const response = await fetch(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}` },
    })
    expect([path, response.status]).toEqual([path, 404])
  }
})

describe('services by the page', () => {
  const weather = {
    server: 'http',
    name: 'weather',
    base_url: 'https://api.example.com/v1',
    credential: 'weather-key',
    headers: 'Authorization: Bearer {credential}\nX-Plan: free',
    hosts: 'cdn.example.com',
    format: 'json',
  }
  const listed = async () => {
    const { body } = await call<{ services: { name: string; server: string }[] }>(
      'GET',
      '/api/v1/services',
      { key: adminKey },
    )
    return body.services
  }

  test('M5: an admin declares, changes and deletes a service', async () => {
    expect((await send('/credentials/services', weather)).status).toBe(303)
    expect(await listed()).toContainEqual(
      expect.objectContaining({
        name: 'weather',
        hosts: ['api.example.com', 'cdn.example.com'],
        allow_http: false,
        headers: { Authorization: 'Bearer {credential}', 'X-Plan': 'free' },
      }),
    )
    const html = await (await get('/credentials')).text()
    expect(html).toContain('<code>https://api.example.com/v1</code>')
    expect(html).toContain('Authorization: Bearer {credential}')
    expect(html).toContain('built in')

    const form = await (await get('/credentials?change=http%2Fweather')).text()
    expect(form).toContain('Change http / weather')
    expect(form).toMatch(/<textarea id="service-hosts"[^>]*>cdn\.example\.com<\/textarea>/)
    await send('/credentials/services', { ...weather, hosts: '', headers: 'X-Key: {credential}' })
    expect(await listed()).toContainEqual(
      expect.objectContaining({ hosts: ['api.example.com'], headers: { 'X-Key': '{credential}' } }),
    )
    await send('/credentials/services/delete', { server: 'http', name: 'weather' })
    expect((await listed()).map(({ name }) => name)).not.toContain('weather')
  })

  test('M13: an address that is not public is refused with the reason, and what was typed stays', async () => {
    const response = await send('/credentials/services', {
      ...weather,
      base_url: 'https://169.254.169.254/latest',
    })
    const html = await response.text()
    expect(response.status).toBe(400)
    expect(html).toMatch(/base_url: .*169\.254\.169\.254/)
    expect(html).toContain('value="https://169.254.169.254/latest"')
    expect((await listed()).map(({ name }) => name)).not.toContain('weather')
  })
})

describe('the API of credentials and services', () => {
  test('H17: every route of it is described, answered, and refused to others than admins', async () => {
    const response = await exports.default.fetch('http://hub.test/openapi.json')
    const { paths } = (await response.json()) as { paths: Record<string, Record<string, unknown>> }
    expect(adminRoutes.length).toBeGreaterThan(8)
    for (const { method, path } of adminRoutes) {
      expect(paths[path.replace(/:(\w+)/g, '{$1}')], path).toHaveProperty(method)
      const address = `/api/v1${path.replace(':server', 'http').replace(':name', 'some')}`
      const { status } = await call(method.toUpperCase(), address, { key: adminKey })
      expect([200, 400, 404], `${method} ${path}`).toContain(status)
      expect((await call(method.toUpperCase(), address, {})).status, path).toBe(401)
    }
    const wrong = await call<{ hint: string }>('POST', '/api/v1/services/http/some', {
      key: adminKey,
      body: {},
    })
    expect([wrong.status, wrong.body.hint]).toEqual([405, 'Use PUT or DELETE.'])
    const docs = await (await exports.default.fetch('http://hub.test/docs')).text()
    expect(docs).toContain('PUT /credentials/:name')
  })
})
