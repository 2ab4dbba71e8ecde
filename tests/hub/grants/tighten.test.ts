import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { CallPolicy } from '../../../src/hub/contract/hub'
import { listKnownTools } from '../../../src/mcp-servers/gateway/known-tools'
import { servers } from '../../../src/mcp-servers/servers'
import { defineTool } from '../../../src/mcp-servers/tool/define-tool'
import { type Browser, signIn } from '../../web/open-pages'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  tier: 'write',
  isIdempotent: false,
  doing: 'paying',
  input: z.strictObject({ to: z.string() }),
  grant: { shape: 'acme:*', of: ({ to }) => `acme:${to}` },
  run: async ({ input }) => input.to,
})
/** A remote server where people can connect accounts. */
const acme = { name: 'acme', description: 'Acme.', isConnectable: true, tools: [pay] }
const catalog = listKnownTools([...servers, acme])

let admin: Browser
let mira: { key: string; browser: Browser }
beforeAll(async () => {
  const { key } = await hub.join('mira', 'human')
  await hub.join('wren')
  admin = await signIn(hub)
  mira = { key, browser: await signIn(hub, key) }
})
beforeEach(() => {
  hub.seen.tools = catalog
  hub.clock.advance(60_000)
})

const put = (name: string, body: object, query = '') =>
  hub.call(`/agents/${name}/grants${query}`, { method: 'PUT', key: adminKey, body })
const fields = { denied: '', require_approval: '', rate_limits: '', seen_at: '' }
const send = async (name: string, action: string, typed: Record<string, string>) => {
  const html = await admin.read(`/policy/${encodeURIComponent(name)}`)
  const seen_at = /name="seen_at" value="(\d+)"/.exec(html)?.[1] ?? ''
  return admin.send(`/policy/${encodeURIComponent(name)}`, {
    ...fields,
    ...typed,
    seen_at,
    do: action,
  })
}

describe.each(['* for guests as requester', 'acme:* as requester', '* as requester trusted'])(
  'the line "%s"',
  (line) => {
    test.each(['*', 'wren'])(
      'C6: is previewed, saved and removed in the policy of %s',
      async (name) => {
        expect((await put(name, { allowed: ['hub:*', line] }, '?dry_run=true')).status).toBe(200)
        const allowed = `hub:*\n${line}`
        expect((await send(name, 'preview', { allowed })).status).toBe(200)
        expect((await send(name, 'save', { allowed })).status).toBe(303)
        for (const path of ['/tools', '/policy', `/policy/${encodeURIComponent(name)}`]) {
          expect((await admin.get(path)).status, path).toBe(200)
        }
        expect((await mira.browser.get('/tools')).status).toBe(200)
        expect((await hub.call('/tools', { key: mira.key })).status).toBe(200)
        expect((await hub.call('/tools', { key: adminKey })).status).toBe(200)
        expect((await send(name, 'save', { allowed: 'hub:*' })).status).toBe(303)
        expect((await put(name, { allowed: ['hub:*', line] })).status).toBe(200)
        expect((await put(name, { allowed: ['hub:*'] })).status).toBe(200)
      },
    )
  },
)

test('C6: evaluating a policy for a list never throws, whoever requests', () => {
  const requester = fc.record(
    {
      name: fc.constantFrom('', 'mira'),
      role: fc.constantFrom('guest', 'member', 'admin'),
      id: fc.constant('a1'),
    },
    { requiredKeys: ['name', 'role'] },
  )
  const pattern = fc.constantFrom('*', 'acme:*', 'acme:bob', 'hub:read', 'x', ':::', '')
  const patterns = fc.array(pattern, { maxLength: 3 })
  const policy = fc.record(
    {
      requested: fc.option(patterns),
      requesters: fc.array(requester, { maxLength: 3 }),
      allowed: patterns,
      denied: patterns,
      asRequester: patterns,
      withheld: patterns,
      requireApproval: patterns,
      rateLimits: fc.constant([]),
    },
    { requiredKeys: ['requested', 'allowed', 'denied', 'requireApproval', 'rateLimits'] },
  )
  fc.assert(
    fc.property(policy, (given) => {
      const verdicts = catalog.evaluatePolicy(given as unknown as CallPolicy)
      expect(verdicts.length).toBe(catalog.names.length)
    }),
  )
})

describe('what stands in a policy', () => {
  /** Entries that were right when they were saved, and would be refused now. */
  const stale = {
    allowed: ['hub:*', 'acme:pay for @gone-account', 'hub:read for moderators of m/gone'],
    denied: ['hub:delete'],
    require_approval: ['tool:acme_pay', 'tier:write'],
    rate_limits: [{ tool: 'acme_pay', per: 'hour', limit: 5, scope: 'agent' }],
  }
  beforeEach(async () => {
    await hub.call('/agents/*/grants', {
      method: 'PUT',
      key: adminKey,
      body: { allowed: ['hub:*'] },
    })
    await hub.call('/agents/wren/grants', { method: 'DELETE', key: adminKey })
    const gone = await hub.join(`gone-${crypto.randomUUID().slice(0, 6)}`)
    const community = `gone-${crypto.randomUUID().slice(0, 6)}`
    await hub.call('/communities', { key: mira.key, body: { name: community } })
    const allowed = [
      'hub:*',
      `acme:pay for @${gone.name}`,
      `hub:read for moderators of m/${community}`,
    ]
    expect((await put('wren', { ...stale, allowed })).status).toBe(200)
    stale.allowed = allowed
    // The remote server, the account and the community go.
    hub.seen.tools = listKnownTools(servers)
    await env.DB.prepare(`UPDATE grant_policies SET named = '{}'`).run()
    await env.DB.prepare(
      'DELETE FROM community_members WHERE community_id IN (SELECT id FROM communities WHERE name = ?)',
    )
      .bind(community)
      .run()
    await env.DB.prepare('DELETE FROM communities WHERE name = ?').bind(community).run()
  })
  const read = async () => (await hub.call('/agents/wren/grants', { key: adminKey })).body.own

  test('M3: an allowed line is removed and a denied one added, whatever else stands there', async () => {
    const own = await read()
    const tighter = {
      ...own,
      allowed: own.allowed.filter((line: string) => line !== 'hub:*'),
      denied: [...own.denied, 'hub:write'],
    }
    const saved = await put('wren', tighter)
    expect(saved.status, JSON.stringify(saved.body)).toBe(200)
    expect(saved.body.warnings.map(({ path }: { path: string }) => path)).toEqual(
      expect.arrayContaining(['body.require_approval.0', 'body.rate_limits.0.tool']),
    )
    expect(await read()).toEqual(tighter)
  })

  test('M3: the form of the policy is sent as it is shown, with one more denied line', async () => {
    const own = await read()
    const typed = {
      allowed: own.allowed.join('\n'),
      denied: `${own.denied.join('\n')}\nhub:write`,
      require_approval: own.require_approval.join('\n'),
      rate_limits: '5 per hour of tool:acme_pay',
    }
    const preview = await send('wren', 'preview', typed)
    expect(preview.status).toBe(200)
    expect(await preview.text()).toContain('Unknown tool acme_pay')
    expect((await send('wren', 'save', typed)).status).toBe(303)
    expect((await read()).denied).toEqual([...own.denied, 'hub:write'])
  })

  test('M7: a new entry that would have no effect is refused beside them', async () => {
    const own = await read()
    for (const change of [
      { require_approval: [...own.require_approval, 'tool:acme_refund'] },
      { rate_limits: [...own.rate_limits, { tool: 'acme_pay', per: 'day', limit: 1 }] },
      { allowed: [...own.allowed, 'hub:read for @nobody-here'] },
      { allowed: [...own.allowed, `hub:read for ${'@mira, '.repeat(60)}@mira`] },
    ]) {
      expect((await put('wren', { ...own, ...change })).status).toBe(400)
    }
  })

  test('M3: an account without rules of its own gets those of the default, tightened', async () => {
    const own = await read()
    await env.DB.prepare(
      `UPDATE grant_policies SET (allowed, require_approval) = (SELECT allowed, require_approval FROM grant_policies
         WHERE account_id <> '*' LIMIT 1) WHERE account_id = '*'`,
    ).run()
    await hub.call('/agents/wren/grants', { method: 'DELETE', key: adminKey })
    const tighter = { allowed: own.allowed.slice(1), require_approval: own.require_approval }
    expect((await put('wren', tighter)).status).toBe(200)
  })

  test('M3: its own policy is deleted', async () => {
    expect(
      (await hub.call('/agents/wren/grants', { method: 'DELETE', key: adminKey })).status,
    ).toBe(200)
  })
})
