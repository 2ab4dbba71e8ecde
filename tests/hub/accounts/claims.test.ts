import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { apiRoutes } from '../../../src/hub/app'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub({ ROOKERY_REGISTRATION: 'claim' })
let olga: Awaited<ReturnType<typeof hub.join>>
let gus: Awaited<ReturnType<typeof hub.join>>

beforeAll(async () => {
  olga = await hub.join('olga', 'human')
  gus = await hub.join('gus', 'human')
  await hub.call('/accounts/gus/role', { method: 'PUT', key: adminKey, body: { role: 'guest' } })
})

async function register(name: string) {
  const { status, body } = await hub.call('/accounts', {
    body: { name, description: 'Counts plums' },
  })
  expect(status, JSON.stringify(body)).toBe(201)
  const { api_key: key, claim_url: url, id } = body.account
  return { id, key, url, path: new URL(url).pathname, name }
}
const sameOrigin = { 'sec-fetch-site': 'same-origin', origin: 'http://hub.test' }
const claim = (path: string, key: string, role: string) =>
  hub.fetch(path, {
    method: 'POST',
    headers: {
      ...sameOrigin,
      authorization: `Bearer ${key}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ role }).toString(),
    redirect: 'manual',
  })

test('T8: until a member opens the claim link, the key reads its own account and nothing else', async () => {
  const bot = await register('plumbot')
  expect(bot.url).toMatch(/^http:\/\/hub\.test\/claim\/[\w-]{40,}$/)
  const status = await hub.call('/me', { key: bot.key })
  expect(status.body).toMatchObject({ account: { is_claimed: false, name: 'plumbot' } })
  expect((await hub.call('/me', { key: bot.key })).status).toBe(200)
  for (const route of apiRoutes) {
    if (route.path === '/me' && route.method === 'get') continue
    if (route.access === 'open') continue
    const query = route.method === 'get' ? '?name=x&q=x' : ''
    const path = route.path.replaceAll(/:\w+/g, 'x') + query
    const method = route.method.toUpperCase()
    const body = route.body ? {} : undefined
    const answer = await hub.call(path, { method, key: bot.key, body })
    expect(answer.body?.code, `${method} ${path}`).toBe('PENDING_CLAIM')
    expect(answer.status).toBe(403)
    expect(answer.body.hint).toContain('claim_url')
  }
  for (const page of ['/', '/inbox', '/m', '/a/olga']) {
    const answer = await hub.fetch(page, { headers: { authorization: `Bearer ${bot.key}` } })
    expect(answer.status, page).toBe(403)
  }
})

test('T8: a member who opens the link becomes the owner; opening it alone changes nothing', async () => {
  const bot = await register('pearbot')
  const html = await (
    await hub.fetch(bot.path, { headers: { authorization: `Bearer ${olga.key}` } })
  ).text()
  expect(html).toContain('pearbot')
  expect(html).toContain('Counts plums')
  expect((await hub.call('/me', { key: bot.key })).body.account.is_claimed).toBe(false)
  expect((await claim(bot.path, olga.key, 'member')).status).toBe(303)
  const { body } = await hub.call('/me', { key: bot.key })
  expect(body).toMatchObject({ account: { is_claimed: true, role: 'member', owner_id: olga.id } })
  expect((await hub.call('/feed', { key: bot.key })).status).toBe(200)
  const entry = await env.DB.prepare('SELECT * FROM admin_log WHERE target_id = ?')
    .bind(bot.id)
    .first()
  expect(entry).toMatchObject({ action: 'account.claim', account_id: olga.id })
})

test('T8: a claim link works once, also when two members send it at the same time', async () => {
  const bot = await register('figbot')
  const piet = await hub.join('piet', 'human')
  const answers = await Promise.all([
    claim(bot.path, olga.key, 'guest'),
    claim(bot.path, piet.key, 'guest'),
  ])
  expect(answers.map(({ status }) => status).sort()).toEqual([303, 404])
  expect((await claim(bot.path, olga.key, 'guest')).status).toBe(404)
  const rows = await env.DB.prepare('SELECT * FROM admin_log WHERE target_id = ?')
    .bind(bot.id)
    .all()
  expect(rows.results).toHaveLength(1)
})

test('T8: a claimer gives at most their own role, and a guest or a claimed agent claims nothing', async () => {
  const bot = await register('kiwibot')
  expect((await claim(bot.path, olga.key, 'admin')).status).toBe(400)
  expect((await claim(bot.path, gus.key, 'guest')).status).toBe(403)
  const owned = await register('limebot')
  expect((await claim(owned.path, olga.key, 'member')).status).toBe(303)
  expect((await claim(bot.path, owned.key, 'guest')).status).toBe(403)
  expect((await claim(bot.path, bot.key, 'guest')).status).toBe(403)
  expect((await hub.call('/me', { key: bot.key })).body.account.is_claimed).toBe(false)
})

test('T8: a name that nobody claims for 24 hours can be registered again', async () => {
  const first = await register('yambot')
  hub.clock.advance(23 * 3_600_000)
  const taken = await hub.call('/accounts', { body: { name: 'yambot' } })
  expect(taken.body.code).toBe('CONFLICT')
  hub.clock.advance(3_600_000)
  const second = await register('yambot')
  expect(second.id).not.toBe(first.id)
  expect((await hub.call('/me', { key: first.key })).status).toBe(401)
  expect((await claim(first.path, olga.key, 'guest')).status).toBe(404)
  expect((await claim(second.path, olga.key, 'guest')).status).toBe(303)
  const { body } = await hub.call('/accounts?limit=100', { key: olga.key })
  const names = (body.accounts as { name: string }[]).map(({ name }) => name)
  expect(names.filter((name) => name === 'yambot' || name.startsWith('deleted'))).toEqual([
    'yambot',
  ])
})

test('T8: accounts that an admin registers need no claim, and giving a role is a claim too', async () => {
  const { body } = await hub.call('/accounts', { key: adminKey, body: { name: 'ownbot' } })
  expect(body.account.claim_url).toBe('http://hub.test/a/ownbot')
  expect((await hub.call('/feed', { key: body.account.api_key })).status).toBe(200)
  const bot = await register('dillbot')
  await hub.call('/accounts/dillbot/role', {
    method: 'PUT',
    key: adminKey,
    body: { role: 'guest' },
  })
  expect((await hub.call('/feed', { key: bot.key })).status).toBe(200)
})

test('T8: an open hub gives a key that works, a closed one none; the default follows the origin', async () => {
  const tryOn = async (settings: Record<string, string>) => {
    const other = createTestHub(settings)
    const name = `n${crypto.randomUUID().slice(0, 8)}`
    return other.call('/accounts', { body: { name } })
  }
  const open = await tryOn({ ROOKERY_REGISTRATION: 'open' })
  expect(open.body.account.claim_url).toMatch(/\/a\/n/)
  expect(open.body.account.verification_code).toBeTruthy()
  expect((await hub.call('/me', { key: open.body.account.api_key })).body.account.is_claimed).toBe(
    true,
  )
  const closed = await tryOn({ ROOKERY_REGISTRATION: 'closed' })
  expect(closed).toMatchObject({ status: 401, body: { code: 'UNAUTHORIZED' } })
  const deployed = await tryOn({ ROOKERY_REGISTRATION: '' })
  expect(deployed.body.account.claim_url).toContain('/claim/')
  const local = createTestHub({ ROOKERY_REGISTRATION: '', ROOKERY_ORIGIN: 'http://localhost:8787' })
  const answer = await local.request('http://localhost:8787/api/v1/accounts', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'localbot' }),
  })
  const { account } = await answer.json<{ account: { claim_url: string } }>()
  expect(account.claim_url).toBe('http://localhost:8787/a/localbot')
})
