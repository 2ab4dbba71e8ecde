import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { createGrantApi } from '../../../src/hub/api/hub-api'
import { policyBody, toPolicy } from '../../../src/hub/grants/policy'
import { readFormWith } from '../../../src/web/form/form-state'
import { formatRateLimit, policyForm } from '../../../src/web/grants/policy-page'
import { type Browser, signIn } from '../../web/open-pages'
import { adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
const wren = await hub.join('wren')
const mira = await hub.join('mira', 'human')
await hub.host(wren.id)
await env.DB.prepare('UPDATE agents SET grants = ? WHERE account_id = ?')
  .bind(JSON.stringify(['hub:read', 'hub:write', 'github:write']), wren.id)
  .run()
let browser: Browser

const change = (name: string, method: string, query: string, body?: object) =>
  hub.call(`/agents/${name}/grants${query}`, { method, key: adminKey, ...(body && { body }) })
const read = async (name: string) => (await change(name, 'GET', '')).body
const count = () =>
  env.DB.prepare(`SELECT count(*) AS n FROM grant_policies WHERE account_id <> '*'`).first('n')

beforeAll(async () => {
  browser = await signIn(hub)
  await change('*', 'PUT', '', { allowed: ['hub:*'] })
})

test('M3: the API returns requested but not granted grants, and the own policy', async () => {
  expect(await read('wren')).toMatchObject({
    grants: { requested: ['hub:read', 'hub:write', 'github:write'], allowed: ['hub:*'] },
    own: null,
    dropped: ['github:write'],
  })
  await change('wren', 'PUT', '', { allowed: ['*'], denied: ['hub:write'] })
  expect(await read('wren')).toMatchObject({
    own: { allowed: ['*'], denied: ['hub:write'] },
    dropped: ['hub:write'],
  })
  expect((await change('wren', 'DELETE', '')).body).toMatchObject({ own: null })
  expect((await change('*', 'DELETE', '')).status).toBe(400)
  expect((await change('nobody', 'GET', '')).status).toBe(404)
  expect((await hub.call('/agents/wren/grants', { key: mira.key })).status).toBe(403)
})

test('M3: a dry run returns gained and lost tools, and tools that require approval', async () => {
  const policy = {
    allowed: ['github:*', 'hub:write'],
    require_approval: ['tool:hub_create_post', 'github:write'],
  }
  const { body } = await change('wren', 'PUT', '?dry_run=true', policy)
  const [{ account, gains, loses, asks, asks_no_more }, ...others] = body.changes
  expect(others).toEqual([])
  expect({ account: account.name, asks, asks_no_more }).toEqual({
    account: 'wren',
    asks: ['hub_create_post'],
    asks_no_more: [],
  })
  expect(gains).toContain('github_create_issue')
  expect(gains).not.toContain('github_get_issue')
  expect(loses).toContain('hub_search')
  expect(loses).not.toContain('hub_create_comment')
  expect(await count()).toBe(0)
  expect(body.own).toBeNull()
})

test('M3: a dry run of the default returns the changes for each agent and for all others', async () => {
  const { body } = await change('*', 'PUT', '?dry_run=true', {
    allowed: ['hub:read', 'http:weather:read'],
  })
  const of = (name: string | null) =>
    body.changes.find(
      ({ account }: { account: { name: string } | null }) => (account?.name ?? null) === name,
    )
  expect(of('wren').gains).toEqual([])
  expect(of('wren').loses).toContain('hub_create_post')
  expect(of(null).gains).toEqual(['http_request (http:weather:read)'])
  expect(of(null).loses).toContain('hub_create_post')
})

test('M4: each account can read which tools it can use, and why not', async () => {
  const toolsOf = async (key: string) => {
    // The first call with a key writes its time of use.
    await hub.call('/tools', { key })
    const { body, headers } = await hub.call('/tools', { key })
    expect(readCost(headers).roundTrips).toBe(1)
    return new Map<string, { is_allowed: boolean; reason: string | null; tier: string }>(
      body.tools.map((tool: { name: string }) => [tool.name, tool]),
    )
  }
  const own = await toolsOf(mira.key)
  expect(own.get('hub_search')).toMatchObject({ is_allowed: true, reason: null, tier: 'read' })
  expect(own.get('github_create_issue')).toMatchObject({
    is_allowed: false,
    reason: 'no entry under "allowed" in the hub\'s policy matches it',
  })
  expect((await toolsOf(wren.key)).get('http_request')?.reason).toBe(
    "the agent's definition does not request it",
  )
  expect((await hub.call('/tools')).status).toBe(401)
})

const fields = {
  allowed: 'github:*\nhub:write\n',
  denied: '',
  require_approval: 'tier:destructive',
  rate_limits: '5 per day of tool:hub_create_post\n\n100 per hour of github:* in each thread',
  seen_at: '0',
}

test('M3: the page previews without saving, saves the previewed policy, and refuses a policy that changed since', async () => {
  const preview = await browser.send('/policy/wren', { ...fields, do: 'preview' })
  const html = await preview.text()
  expect(preview.status).toBe(200)
  expect(html).toMatch(/class="loss">can no longer use <code>hub_search/)
  expect(html).toMatch(/class="gain">can use <code>github_create_issue/)
  expect(html).toContain('value="save"')
  expect(await count()).toBe(0)

  const saved = await browser.send('/policy/wren', { ...fields, do: 'save' })
  expect([saved.status, saved.headers.get('location')]).toEqual([303, '/policy#wren'])
  expect((await read('wren')).own).toEqual({
    allowed: ['github:*', 'hub:write'],
    denied: [],
    require_approval: ['tier:destructive'],
    rate_limits: [
      { tool: 'hub_create_post', per: 'day', limit: 5, scope: 'agent' },
      { grant: 'github:*', per: 'hour', limit: 100, scope: 'session' },
    ],
  })
  const again = await browser.send('/policy/wren', { ...fields, allowed: '*', do: 'save' })
  expect(again.status).toBe(409)
  expect(await again.text()).toContain('admin changed this policy')
  expect((await read('wren')).own.allowed).toEqual(['github:*', 'hub:write'])

  const seen = /name="seen_at" value="(\d+)"/.exec(await browser.read('/policy/wren'))?.[1] ?? ''
  const removed = await browser.send('/policy/wren', { do: 'remove', seen_at: seen })
  expect(removed.status).toBe(303)
  expect((await read('wren')).own).toBeNull()
})

test('M7, M8: an invalid rule is shown by field and line, and the submitted values stay', async () => {
  const response = await browser.send('/policy/wren', {
    ...fields,
    denied: 'hub:write\nnot a grant',
    require_approval: 'tier:writ',
    rate_limits: '5 times a day',
    do: 'save',
  })
  const html = await response.text()
  expect(response.status).toBe(400)
  expect(html).toContain('Rate limits, line 1: ')
  expect(html).toContain('not a grant')
  expect(html).not.toContain('value="save"')
  for (const field of ['denied', 'rate_limits']) {
    expect(html).toContain(`aria-describedby="${field}-wrong ${field}-note" aria-invalid="true"`)
  }
  expect(html).toContain('role="alert"')
  const names = await browser.send('/policy/wren', { ...fields, denied: 'a b', do: 'save' })
  expect(await names.text()).toContain('<p class="bad" id="denied-wrong">Denied, line 1: ')
  const tier = await browser.send('/policy/wren', {
    ...fields,
    require_approval: 'hub:write\ntier:writ',
    do: 'save',
  })
  expect(await tier.text()).toContain('Requires approval, line 2: ')
  expect(await count()).toBe(0)
})

test('M8: a formatted rate limit parses back exactly', () => {
  const lines = [
    '20 per hour',
    '5 per day of tool:hub_create_post',
    '7 per minute of tool:hub_vote of hub:*',
    '100 per hour of github:* in each thread',
  ]
  const typed: Record<string, string> = { rate_limits: lines.join('\r\n') }
  const read = readFormWith(policyBody, (name) => typed[name] ?? '', policyForm)
  expect(read.form.errors).toEqual({})
  const limits = read.isValid ? toPolicy(read.value).rateLimits : []
  expect(limits.map(formatRateLimit)).toEqual(lines)
})

test('M4: the fields that a denied call links to are on the page, and the overview lists all agents', async () => {
  const html = await browser.read('/policy/wren')
  for (const list of ['allowed', 'denied']) expect(html).toContain(`id="${list}"`)
  expect(html).toContain('Requested but not granted')
  const overview = await browser.read('/policy')
  expect(overview).toContain('id="wren"')
  expect(overview).toContain('<code>github:write</code>')
  expect(overview).not.toContain('id="mira"')
  expect((await browser.get('/policy/nobody')).status).toBe(404)

  const theirs = await signIn(hub, mira.key)
  for (const path of ['/policy', '/policy/wren']) expect((await theirs.get(path)).status).toBe(403)
  const sent = await theirs.send('/policy/mira', { ...fields, do: 'save' })
  expect([sent.status, await count()]).toEqual([403, 0])
})

test('M4 M12: the tools page shows viewers what they can use, and admins which accounts can', async () => {
  const html = await (await signIn(hub, mira.key)).read('/tools')
  expect(html).toMatch(/id="hub_search"[\s\S]*?You: Allowed<\/p>/)
  expect(html).toMatch(
    /id="http_request"[\s\S]*?Not allowed<\/b>: no entry under &quot;allowed&quot;/,
  )
  expect(html).not.toContain('Allowed for')
  expect(html).toContain('Ask an admin to allow the tool.')
  expect(html).not.toContain('/tools/remote')
  const admins = await browser.read('/tools')
  expect(admins).toContain('href="/policy/admin#allowed"')
  expect(admins).toContain('href="/tools/remote"')
  expect(admins).toMatch(/id="hub_search"[\s\S]*?href="\/a\/wren"/)
  expect((await hub.fetch('/tools', { redirect: 'manual' })).status).toBe(303)
})

test('M4: deleting an own policy takes effect on the next call', async () => {
  const grantApi = createGrantApi(hub.context)
  await change('mira', 'PUT', '', { allowed: ['github:*'] })
  expect((await grantApi.readPolicy(mira.id, null)).allowed).toEqual(['github:*'])
  await change('mira', 'DELETE', '')
  expect((await grantApi.readPolicy(mira.id, null)).allowed).toEqual(['hub:*'])
})

test('H7: the overview lists many agents on several pages', async () => {
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO accounts (id, name, kind, created_at)
       SELECT 'crowd-' || key, format('crowd-%03d', key), 'agent', 0 FROM json_each(?)`,
    ).bind(JSON.stringify(Array(120).fill(0))),
    env.DB.prepare(
      `INSERT INTO agents (account_id, definition_version, definition_etag, model, grants, interval_ms, updated_at)
       SELECT id, 1, 'etag', 'offline/extractive', '[]', 0, 0 FROM accounts WHERE name LIKE 'crowd-%'`,
    ),
  ])
  const listed = (html: string) => [...html.matchAll(/<tr id="([^"]+)"/g)].map(([, name]) => name)
  const first = await browser.read('/policy')
  expect(listed(first)).toHaveLength(100)
  const next = /href="(\/policy\?after=[^"]+)"/.exec(first)?.[1] ?? ''
  const second = await browser.read(next)
  expect(second).not.toContain('/policy?after=')
  expect(second).toContain('Edit default policy')
  const all = [...listed(first), ...listed(second)]
  expect(new Set(all).size).toBe(all.length)
  expect(all).toEqual(expect.arrayContaining(['crowd-000', 'crowd-119', 'wren']))
})
