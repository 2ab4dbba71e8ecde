import { runInDurableObject } from 'cloudflare:test'
import { env, exports } from 'cloudflare:workers'
import { expect, test, vi } from 'vitest'
import { createScrubber } from '../../../src/mcp-servers/credentials/scrub'
import { adminKey, call, join, post, replyTo } from '../../support/cast'
import { connectMcp, textOf } from '../../support/connect-mcp'
import { hire } from '../../support/fake-hire'
import { allow, declareWithKey } from '../../support/services'

/** With everything that is written differently somewhere. */
const canary = 'cAnary-"7/\\&<+ =~Zq%42_end'

/** Every way in which the service gives its caller's key back. */
const echoes = [
  ...['/body', '/text', '/header', '/type', '/error', '/broken', '/base64', '/encoded'],
  ...['/escaped', '/hex', '/chunks', '/long', '/brim', '/utf16', '/moved', '/gone', '/nowhere'],
]

/** Parts that no way of escaping changes; nothing else here is written like this. */
const pieces = [canary, 'cAnary-', 'Zq%42_end', 'Zq%2542_end', '42_end']
const holds = (text: string): boolean => {
  const isForm = createScrubber(canary).text(text) !== text
  return isForm || pieces.some((piece) => text.includes(piece))
}

async function dumpTables(): Promise<[string, string][]> {
  const { results } = await env.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'`,
  ).all<{ name: string }>()
  const dumps: [string, string][] = []
  for (const { name } of results) {
    const rows = await env.DB.prepare(`SELECT * FROM "${name}"`).raw()
    dumps.push([name, rows.flat().map(String).join('\n')])
  }
  return dumps
}

async function dumpObject(accountId: string): Promise<string> {
  const stub = env.AGENTS.get(env.AGENTS.idFromName(accountId))
  return runInDurableObject(stub, async (_instance, { storage }) => {
    const tables = storage.sql
      .exec<{ name: string }>(`SELECT name FROM sqlite_master WHERE type = 'table'`)
      .toArray()
      .filter(({ name }) => !name.startsWith('_cf'))
    const rows = tables.flatMap(({ name }) => storage.sql.exec(`SELECT * FROM "${name}"`).toArray())
    const kept = [...(await storage.list()).values()]
    return [...rows.flatMap((row) => Object.values(row).map(String)), JSON.stringify(kept)].join(
      '\n',
    )
  })
}

test('M5 M6: a credential that a service echoes in every form is in no answer, prompt, table, store, log or page', async () => {
  const logged: string[] = []
  for (const method of ['error', 'warn', 'info', 'debug', 'log'] as const) {
    vi.spyOn(console, method).mockImplementation((...words) => void logged.push(words.join(' ')))
  }
  await declareWithKey('echo', 'echo-key', canary)
  const mira = await join('mira')
  const courier = await hire(
    'courier',
    [
      ...echoes.map((path) => ({
        calls: [{ name: 'http_request', arguments: { service: 'echo', path } }],
      })),
      { text: 'I have asked everywhere.' },
    ],
    {
      grants: ['hub:read', 'http:echo:read'],
      behavior: `behavior: { max_iterations: ${echoes.length + 2} }`,
    },
  )
  await allow(courier.accountId, ['hub:*', 'http:echo:*'])
  const asked = await post(mira.key, 'An errand', '@courier ask the service please')
  const reply = await replyTo(asked, 'courier')
  expect(reply.content).toContain('I have asked everywhere')

  const requests = await courier.requests()
  const prompts = requests.map(({ body }) => JSON.stringify(body))
  const last = prompts.at(-1) ?? ''
  expect(last.match(/\[redacted\]/g)?.length).toBeGreaterThan(echoes.length)
  expect(prompts.filter(holds).length).toBe(0)

  const dumps = await dumpTables()
  expect(dumps.length).toBeGreaterThan(20)
  expect(dumps.filter(([, dump]) => holds(dump)).map(([name]) => name)).toEqual([])
  // what is searched does hold the activation's words
  expect(dumps.filter(([, dump]) => dump.includes('[redacted]')).length).toBeGreaterThan(0)
  const object = await dumpObject(courier.accountId)
  expect(object).toContain('[redacted]')
  expect(holds(object)).toBe(false)
  expect(logged.filter(holds)).toEqual([])

  const page = await call<{ text: string }>('GET', `/activations/${reply.activation_id}`, {
    // who may see what a tool answered
    key: adminKey,
  })
  expect(page.status).toBe(200)
  expect(holds(JSON.stringify(page.body))).toBe(false)
})

test.each(echoes)(
  'M6: an outside caller does not see the credential in %s either',
  async (path) => {
    await declareWithKey('echo', 'echo-key', canary)
    const agent = await join(`swift${path.slice(1)}`, 'agent')
    await allow(agent.id, ['http:echo:*'])
    const client = await connectMcp((request) => exports.default.fetch(request), agent.key, '/mcp')
    const result = await client.callTool({
      name: 'http_request',
      arguments: { service: 'echo', path },
    })
    const text = textOf(result)
    expect(holds(text), text.slice(0, 300)).toBe(false)
    const isSilent = ['/long', '/utf16', '/gone', '/nowhere'].includes(path)
    expect(text.includes('[redacted]'), text.slice(0, 300)).toBe(!isSilent)
  },
)
