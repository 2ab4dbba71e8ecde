import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { checkDefinition } from '../../src/agents/definitions/check-definition'
import { createModelRegistry } from '../../src/agents/models/registry'
import { isGranted } from '../../src/mcp-servers/gateway/decide'
import { readSettings } from '../../src/shared/settings'
import { adminKey, readCost } from '../hub/create-test-hub'
import { type Browser, createBrowser, createScene, signIn } from './open-pages'

const scene = await createScene()
const { hub, mira } = scene
const models = createModelRegistry(readSettings({ ROOKERY_ADMIN_KEY: adminKey }))
let admin: Browser

beforeAll(async () => {
  hub.seen.check = (files) =>
    checkDefinition(files, {
      listModels: models.list,
      listServers: () => ['hub', 'memory', 'github'],
      hookNames: [],
      isGranted,
      isTooWide: () => false,
      hasTool: () => true,
    })
  admin = await signIn(hub)
  await admin.get('/docs')
})

const prompt = 'You are {{name}}.'
const configOf = (name: string, grants: string, rest = '') =>
  `name: ${name}\ncapabilities:\n  grants: [${grants}]\n${rest}`
const fields = (config: string, base: number, more: Record<string, string> = {}) => ({
  paths: JSON.stringify(['config.yaml', 'system-prompt.md']),
  'config.yaml': config,
  'system-prompt.md': prompt,
  base: String(base),
  do: 'preview',
  ...more,
})
const send = async (path: string, form: Record<string, string>) => {
  const response = await admin.send(path, form)
  return { status: response.status, html: await response.text(), headers: response.headers }
}
const readDefinition = async (name: string, query = '') =>
  (await hub.call(`/agents/${name}/definition${query}`, { key: adminKey })).body

test('agents in the browser: an admin creates one from a template, and allows its grants in the same step', async () => {
  const templates = await admin.read('/agents/new')
  expect(templates).toContain('value="translator"')
  const start = await admin.get('/agents/new?template=release-notes&name=heron')
  const page = await start.text()
  expect([start.status, readCost(start.headers).roundTrips]).toEqual([200, 1])
  expect(page).toContain('name: heron')
  expect(page).toMatch(/Allow <code>github:read<\/code>/)

  const config = configOf('heron', 'hub:read, github:read')
  const allow = { do: 'save', allow: 'on', allow_grants: '["github:read"]' }
  const made = await send('/agents/new', fields(config, 0, allow))
  expect([made.status, made.headers.get('location')]).toEqual([303, '/a/heron'])
  const { grants } = (await hub.call('/agents/heron/grants', { key: adminKey })).body
  expect(grants.allowed).toContain('github:read')
  expect(grants.allowed).toContain('hub:write')
  const again = await send('/agents/new', fields(`${config}# 2`, 0, { do: 'save' }))
  expect(again.status).toBe(409)
  expect(again.html).toContain('An agent heron exists already')
})

test('agents in the browser: problems come with file, line and the likely name, and nothing is saved', async () => {
  const wrong = configOf('heron', 'hub:read', 'behaviour:\n  priority: x\nprofile: research_agnt\n')
  const { status, html } = await send('/a/heron/edit', fields(wrong, 1, { do: 'save' }))
  expect(status).toBe(422)
  expect(html).toMatch(/line 6, <code>profile<\/code>.*Did you mean research_agent\?/)
  expect(html).toContain('6 profile: research_agnt')
  expect(html).toContain('aria-invalid="true"')
  const { html: warned } = await send(
    '/a/heron/edit',
    fields(configOf('heron', 'hub:read', 'behaviour: {}\n'), 1),
  )
  expect(warned).toContain('unknown field. Did you mean behavior?')
  expect((await readDefinition('heron')).definition.version).toBe(1)
})

test('agents in the browser: a preview shows lines, grants, tools and cost before saving', async () => {
  const config = configOf('heron', 'hub:read, hub:write', 'brain: { max_cost_per_day: 2 }\n')
  const { status, html } = await send('/a/heron/edit', fields(config, 1))
  expect(status).toBe(200)
  const text = html.replace(/<[^>]+>/g, '').replace(/\s+/g, ' ')
  expect(text).toContain('requests hub:write')
  expect(text).toContain('no longer requests github:read')
  expect(text).toContain('can use hub_create_post')
  expect(text).toContain('can no longer use github_get_file')
  expect(text).toMatch(/Budget a day.*now: \$2\.00/)
  expect(html).toContain('<span class="loss">  grants: [hub:read, github:read]')
  expect((await readDefinition('heron')).definition.version).toBe(1)
  expect((await send('/a/heron/edit', fields(config, 1, { do: 'save' }))).status).toBe(303)
  expect(await admin.read('/a/heron/edit?saved')).toMatch(/Saved as version 2\./)
  const saved = await readDefinition('heron')
  expect([saved.definition.version, saved.files['config.yaml']]).toEqual([2, config])
})

test('agents in the browser: a preview shows the tools of the whole definition, and those of grants that are not allowed yet', async () => {
  const toolsOf = async (name: string, before: string, after: string) => {
    const files = {
      'config.yaml': `name: ${name}\ncapabilities:\n${before}`,
      'system-prompt.md': prompt,
    }
    const saved = await hub.call(`/agents/${name}/definition`, {
      method: 'PUT',
      key: adminKey,
      body: { files },
    })
    expect(saved.status).toBe(200)
    const { version } = saved.body.definition
    const config = `name: ${name}\ncapabilities:\n${after}`
    const { html } = await send(`/a/${name}/edit`, fields(config, version))
    const text = html.replace(/<[^>]+>/g, '').replace(/\s+/g, ' ')
    return text.slice(text.indexOf('Tools'), text.indexOf('Changed lines'))
  }
  const reads = '  grants: [hub:read]\n'
  // Restrictions count, not only grants.
  const denied = await toolsOf('dunnock', reads, `${reads}  tools: { deny: [hub_search] }\n`)
  expect(denied).toContain('can no longer use hub_search')
  expect(denied).not.toContain('hub_get_thread')
  const listed = await toolsOf(
    'dunnock',
    '  grants: [hub:read, memory:read]\n  mcp_servers: [hub]\n',
    '  grants: [hub:read, memory:read]\n  mcp_servers: [hub, memory]\n',
  )
  expect(listed).toContain('can use memory_list_facts')
  // What only an allowed grant gives is said, too.
  const asked = await toolsOf('dunnock', reads, '  grants: [hub:read, github:read]\n')
  expect(asked).toContain('can use github_get_file once its grant is allowed')
  expect(asked).not.toContain('no tool gained or lost')
  const excluded = await toolsOf(
    'dunnock',
    reads,
    '  grants: [hub:read, github:read]\n  mcp_servers: [hub]\n',
  )
  expect(excluded).toContain('no tool gained or lost')
})

test('agents in the browser: another current version is a conflict with the differences, by page and API', async () => {
  const mine = configOf('heron', 'hub:read', '# mine\n')
  const { status, html } = await send('/a/heron/edit', fields(mine, 1, { do: 'save' }))
  expect(status).toBe(409)
  expect(html).toContain('version 1 to 2')
  expect(html).toContain('name="base" value="2"')
  expect(html).toContain('<span class="gain">brain: { max_cost_per_day: 2 }')
  expect(html).toContain('# mine')

  const files = { 'config.yaml': mine, 'system-prompt.md': prompt }
  const put = (base_version: number) =>
    hub.call('/agents/heron/definition', {
      method: 'PUT',
      key: adminKey,
      body: { files, base_version },
    })
  const refused = await put(1)
  expect(refused).toMatchObject({
    status: 409,
    body: { code: 'CONFLICT', details: [{ path: 'config.yaml' }] },
  })
  expect(refused.body.details[0].message).toContain('\n+ # mine')
  // Two that started from the same version: one is saved, also when both were checked before.
  const other = { ...files, 'system-prompt.md': 'You are somebody else.' }
  const [first, second] = await Promise.all([
    put(2),
    hub.call('/agents/heron/definition', {
      method: 'PUT',
      key: adminKey,
      body: { files: other, base_version: 2 },
    }),
  ])
  expect([first.status, second.status].sort()).toEqual([200, 409])
  expect((await readDefinition('heron')).definition.version).toBe(3)
  // The same files again are no conflict.
  const current = await readDefinition('heron')
  const same = await hub.call('/agents/heron/definition', {
    method: 'PUT',
    key: adminKey,
    body: { files: current.files, base_version: 1 },
  })
  expect([same.status, same.body.definition.version]).toEqual([200, 3])
})

test('agents in the browser: versions have differences, can be exported, and one is restored', async () => {
  const first = await readDefinition('heron', '?version=1')
  const page = await admin.read('/a/heron/versions?show=2')
  expect(page).toContain('<span class="loss">  grants: [hub:read, github:read]')
  const archive = await admin.get('/a/heron/versions/1.tar')
  const tar = new TextDecoder().decode(await archive.arrayBuffer())
  expect(archive.headers.get('content-disposition')).toContain('heron-1.tar')
  expect([tar.slice(0, 17), tar.slice(257, 262)]).toEqual(['heron/config.yaml', 'ustar'])
  expect(tar).toContain(first.files['config.yaml'])

  expect((await send('/a/heron/versions', { version: '1', base: '2' })).status).toBe(409)
  expect((await send('/a/heron/versions', { version: '1', base: '3' })).status).toBe(303)
  const restored = await readDefinition('heron')
  expect(await admin.read('/a/heron/versions?restored=1')).toMatch(/Version 4 .*version 1\./)
  expect([restored.definition.version, restored.files]).toEqual([4, first.files])
  const { body } = await hub.call('/agents/heron/definition/versions', { key: adminKey })
  expect(body.versions.map(({ version }: { version: number }) => version)).toEqual([4, 3, 2, 1])
  const missing = await hub.call('/agents/heron/definition?version=9', { key: adminKey })
  expect(missing.status).toBe(404)
})

test('agents in the browser: skills are added, kept and deleted', async () => {
  const config = configOf('heron', 'hub:read')
  const added = await send(
    '/a/heron/edit',
    fields(config, 4, { do: 'add_skill', new_skill: 'count' }),
  )
  expect(added.html).toContain('name="skills/count/SKILL.md"')
  const skill = '---\nname: count\ndescription: Counts.\n---\nCount.'
  const paths = JSON.stringify(['config.yaml', 'system-prompt.md', 'skills/count/SKILL.md'])
  const save = (base: number, text: string) =>
    send('/a/heron/edit', {
      ...fields(config, base, { do: 'save' }),
      paths,
      'skills/count/SKILL.md': text,
    })
  expect((await save(4, skill)).status).toBe(303)
  expect((await readDefinition('heron')).files['skills/count/SKILL.md']).toBe(skill)
  expect((await save(5, '')).status).toBe(303)
  expect(Object.keys((await readDefinition('heron')).files)).toHaveLength(2)
  const bad = await send('/a/heron/edit', fields(config, 6, { do: 'add_skill', new_skill: '../x' }))
  expect(bad.status).toBe(400)
})

test('agents in the browser: the list has state, model, cost and the last answer that the reader reads', async () => {
  const today = Math.floor(hub.clock.now() / 86_400_000)
  const spend = (day: number, microusd: number) =>
    env.DB.prepare(
      `INSERT INTO usage_days (scope, day, scope_id, calls, estimated_calls, input_tokens, cached_tokens,
         output_tokens, reasoning_tokens, cost_microusd, unpriced_calls, unpriced_tokens)
       VALUES ('agent', ?, ?, 1, 0, 1, 0, 1, 0, ?, 0, 0)`,
    ).bind(day, scene.scout.id, microusd)
  await env.DB.batch([spend(today, 1_500_000), spend(today - 29, 500_000), spend(today - 30, 9e6)])
  const response = await admin.get('/agents')
  expect(readCost(response.headers).roundTrips).toBe(1)
  const html = await response.text()
  const row = html.slice(html.indexOf(`>${scene.scout.name}<`)).split('</tr>')[0] ?? ''
  expect(row).toContain('$2.00')
  expect(row).toMatch(/<a href="\/p\/[^"]+comment=[^"]+"><bdi>Tail latency/)
  expect(row).toContain('asleep')
  expect(html).toContain('/agents/new')

  const stranger = createBrowser(hub)
  expect(await stranger.read('/agents')).not.toContain('/agents/new')
  await env.DB.prepare("UPDATE communities SET visibility = 'private' WHERE name = 'general'").run()
  expect(await stranger.read('/agents')).not.toContain('Tail latency')
  await env.DB.prepare("UPDATE communities SET visibility = 'public' WHERE name = 'general'").run()
})

test('agents in the browser: only admins read and change definitions', async () => {
  const member = await signIn(hub, mira.key)
  for (const path of ['/a/heron/edit', '/a/heron/versions', '/a/heron/versions/1.tar']) {
    expect((await member.get(path)).status, path).toBe(403)
  }
  const sent = await member.send('/a/heron/edit', fields(configOf('heron', 'hub:read'), 6))
  expect(sent.status).toBe(403)
})

test('the list of agents says "no answer yet" only where somebody can wait for one', async () => {
  const ibis = await hub.join('ibis')
  await hub.host(ibis.id)
  const row = async () =>
    (await createBrowser(hub).read('/agents')).split('href="/a/ibis"')[1]?.split('</tr>')[0] ?? ''
  const add = (task: string) =>
    env.DB.prepare(
      `INSERT INTO activations (id, agent_id, class, task, state, outcome, admission, model, definition_version, started_at,
         finished_at, deadline_at) VALUES (?1, ?2, 'inbox', ?3, 'done', 'completed', 'granted', 'm', 1, ?4, ?4, 0)`,
    )
      .bind(hub.clock.newId<string>(), ibis.id, task, hub.clock.now())
      .run()
  expect(await row()).toContain('no answer yet')
  await add('scheduled')
  expect(await row()).toMatch(/<a href="\/activations\/[^"]+">run by schedule<\/a>/)
  expect(await row()).not.toContain('no answer yet')
  await hub.call('/posts', {
    key: mira.key,
    body: { community: 'general', title: 'Waiting', content: '@ibis when?' },
  })
  expect(await row()).toContain('no answer yet')
  await env.DB.prepare('UPDATE inbox_items SET read_at = 1 WHERE account_id = ?')
    .bind(ibis.id)
    .run()
  hub.clock.advance(1)
  await add('mention')
  expect(await row()).toContain('no answer yet')
})
