import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { checkDefinition } from '../../src/agents/definitions/check-definition'
import { createModelRegistry } from '../../src/agents/models/registry'
import { createHubApi } from '../../src/hub/api/hub-api'
import { isGranted } from '../../src/mcp-servers/gateway/decide'
import { readSettings } from '../../src/shared/settings'
import { adminKey, createTestHub, readCost } from '../hub/create-test-hub'
import { type Browser, signIn } from './open-pages'

const hub = createTestHub()
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
const readDefinition = async (name: string) =>
  (await hub.call(`/agents/${name}/definition`, { key: adminKey })).body

test('agents in the browser: a member creates, edits, restores and deletes agents of their own, and no others', async () => {
  const [olga, piet] = [await hub.join('olga', 'human'), await hub.join('piet', 'human')]
  const [own, other] = [await signIn(hub, olga.key), await signIn(hub, piet.key)]
  expect(await own.read('/agents')).toContain('href="/agents/new"')
  const create = (name: string, rest = '', more = {}, by = own) =>
    by.send('/agents/new', fields(configOf(name, 'hub:read', rest), 0, { do: 'save', ...more }))
  expect((await create('robin')).headers.get('location')).toBe('/a/robin')
  const robin = (await hub.call('/accounts/robin', { key: olga.key })).body.account
  expect(robin).toMatchObject({ owner_id: olga.id, role: 'member' })

  // Only an admin allows grants, and sets what reaches beyond the agent.
  const allow = await create('sparrow', '', { allow: 'on', allow_grants: '["github:write"]' })
  expect(allow.status).toBe(403)
  const reserved =
    'brain: { api_base: "http://10.0.0.1", api_key_env: X_API_KEY }\ntype: claude-code\n'
  const page = await create('sparrow', reserved)
  expect(page.status).toBe(403)
  const html = await page.text()
  for (const field of ['brain.api_base', 'brain.api_key_env', 'type']) expect(html).toContain(field)
  expect((await hub.call('/agents/sparrow/grants', { key: adminKey })).status).toBe(404)
  const official = await create('admin-bird')
  expect(official.status).toBe(409)

  // Others neither see nor change it; the owner does, also what an admin has set.
  const edit = (by: Browser, rest: string, base: number) =>
    by.send('/a/robin/edit', fields(configOf('robin', 'hub:read', rest), base, { do: 'save' }))
  expect((await edit(other, '# theirs\n', 1)).status).toBe(403)
  expect((await other.get('/a/robin/edit')).status).toBe(403)
  expect(await own.read('/a/robin')).toContain('href="/a/robin/edit"')
  expect(await other.read('/a/robin')).not.toContain('href="/a/robin/edit"')
  expect((await edit(own, '# mine\n', 1)).status).toBe(303)
  expect((await edit(admin, 'behavior: { priority: critical }\n', 2)).status).toBe(303)
  expect((await edit(own, 'behavior: { priority: critical }\n# kept\n', 3)).status).toBe(303)
  expect((await own.send('/a/robin/versions', { version: '1', base: '4' })).status).toBe(303)
  expect((await edit(own, 'behavior: { priority: critical }\n', 5)).status).toBe(403)
  expect((await hub.call('/agents/robin/definition', { key: piet.key })).status).toBe(403)
  expect(
    (await hub.call('/agents/robin/definition', { key: olga.key })).body.definition.version,
  ).toBe(5)

  expect((await other.send('/a/robin/delete', { confirm: 'robin' })).status).toBe(403)
  const words = { key: olga.key, method: 'DELETE' }
  expect((await hub.call('/accounts/robin?words=remove', words)).status).toBe(403)
  expect((await own.send('/a/robin/delete', { confirm: 'robin' })).headers.get('location')).toBe(
    '/agents',
  )
  expect((await hub.call('/agents/robin/definition', { key: adminKey })).status).toBe(404)
  const { entries } = (await hub.call('/admin/log?action=account.delete', { key: adminKey })).body
  expect(entries[0]).toMatchObject({ account: { name: 'olga' } })
})

test("L27: a folder with the name of a member's agent does not replace it: the error names the owner", async () => {
  const wilma = await hub.join('wilma', 'human')
  const push = (name: string, more: object, key = adminKey) => {
    const files = { 'config.yaml': configOf(name, 'hub:read', '# a folder\n') }
    const body = { files: { ...files, 'system-prompt.md': prompt }, ...more }
    return hub.call(`/agents/${name}/definition`, { method: 'PUT', key, body })
  }
  const made = { 'config.yaml': configOf('dunnock', 'hub:read'), 'system-prompt.md': prompt }
  const create = { method: 'PUT', key: wilma.key, body: { files: made } }
  expect((await hub.call('/agents/dunnock/definition', create)).status).toBe(200)
  for (const more of [{}, { base_version: 0 }]) {
    const refused = await push('dunnock', more)
    expect(refused.status).toBe(409)
    expect(refused.body.error).toContain('@wilma')
    expect(refused.body.hint).toContain('send base_version 1')
  }
  expect(await readDefinition('dunnock')).toMatchObject({ definition: { version: 1 }, files: made })
  // The same files again, the version that an admin read, and the owner's own push.
  expect((await hub.call('/agents/dunnock/definition', { ...create, key: adminKey })).status).toBe(
    200,
  )
  expect((await push('dunnock', { base_version: 1 })).body.definition?.version).toBe(2)
  expect((await hub.call('/agents/dunnock/definition', create)).body.definition?.version).toBe(3)
  const restore = { key: adminKey, body: { version: 2 } }
  expect((await hub.call('/agents/dunnock/definition/restore', restore)).status).toBe(200)
})

test('agents in the browser: guests and agents create none, and a member at most five', async () => {
  const rita = await hub.join('rita', 'human')
  const put = (name: string, key: string) =>
    hub.call(`/agents/${name}/definition`, {
      method: 'PUT',
      key,
      body: { files: { 'config.yaml': configOf(name, 'hub:read'), 'system-prompt.md': prompt } },
    })
  for (let nth = 1; nth <= 5; nth++) expect((await put(`owl-${nth}`, rita.key)).status).toBe(200)
  expect((await put('owl-6', rita.key)).status).toBe(409)
  expect((await put('owl-1', rita.key)).status).toBe(200)
  // An agent that the member claimed counts when it becomes one of this hub.
  const claimed = await hub.join('owl-8')
  await env.DB.batch([
    env.DB.prepare('UPDATE accounts SET owner_id = ? WHERE id = ?').bind(rita.id, claimed.id),
    env.DB.prepare('DELETE FROM api_keys WHERE account_id = ?').bind(claimed.id),
  ])
  expect((await put('owl-8', rita.key)).status).toBe(409)
  expect(
    (await hub.call('/accounts/owl-5?words=keep', { method: 'DELETE', key: rita.key })).status,
  ).toBe(200)
  expect((await put('owl-8', rita.key)).status).toBe(200)
  expect((await put('owl-8', rita.key)).status).toBe(200)
  const gus = (await hub.call('/accounts', { body: { name: 'gus' } })).body.account
  const bot = await hub.join('bot')
  for (const key of [gus.api_key, bot.key]) expect((await put('owl-7', key)).status).toBe(403)
})

test('schedules in the browser: the owner previews, creates, pauses and deletes one, in the definition that keeps its comments', async () => {
  const [tessa, una] = [await hub.join('tessa', 'human'), await hub.join('una', 'human')]
  const [own, other] = [await signIn(hub, tessa.key), await signIn(hub, una.key)]
  const config = configOf(
    'dipper',
    'hub:read',
    '# Keep this comment.\nbrain: { max_cost_per_day: 1 }\n',
  )
  const made = await own.send('/agents/new', fields(config, 0, { do: 'save' }))
  expect(made.headers.get('location')).toBe('/a/dipper')
  const path = '/a/dipper/schedules'
  const page = await own.get(path)
  expect([page.status, readCost(page.headers).roundTrips]).toEqual([200, 1])
  expect((await other.get(path)).status).toBe(403)

  const daily = { cron: '0 9 * * 1-5', timezone: 'Europe/Berlin', task: 'Count <the> jars.' }
  const send = async (form: Record<string, string>, by = own) => {
    const response = await by.send(path, form)
    return { status: response.status, html: await response.text() }
  }
  const shown = await send({ ...daily, base: '1', do: 'preview' })
  expect(shown.status).toBe(200)
  // The hub's clock stands at 2026-01-01, a Thursday: the next run is on Friday at 9:00 in Berlin.
  expect(shown.html).toContain('Fri, 2 Jan 2026, 09:00')
  expect(shown.html).toContain('2026-01-02 08:00 UTC')
  expect(shown.html.match(/ UTC<\/span>/g)).toHaveLength(5)
  expect(shown.html).toContain('Next runs (Europe/Berlin)')
  expect(shown.html).toMatch(/One run at most<\/dt><dd>[^<]+ tokens/)
  expect(shown.html).toMatch(/Next 24 hours at most<\/dt><dd>1\srun[,<]/)
  expect(shown.html).toMatch(/begins with <code>hub_search<\/code>/)
  expect(shown.html).toMatch(/at most 9\sfurther steps and 100\stool calls/)
  expect(shown.html).toMatch(/does not request <code>hub:write<\/code>, so dipper posts nothing/)
  expect(shown.html).toContain('You are dipper.')
  expect(shown.html).toContain('Count &lt;the&gt; jars.')
  expect((await readDefinition('dipper')).definition.version).toBe(1)
  await own.send('/agents/new', fields(configOf('pipit', 'hub:write'), 0, { do: 'save' }))
  const pipit = async () =>
    (await own.send('/a/pipit/schedules', { ...daily, base: '1', do: 'preview' })).text()
  const notGranted =
    /policy of pipit does not grant <code>hub:write<\/code>, so pipit posts nothing/
  const isOffline = /The offline model only finds and quotes posts, so pipit posts nothing/
  expect(await pipit()).toMatch(isOffline)
  const denial = { method: 'PUT', key: adminKey, body: { allowed: ['hub:read'] } }
  expect((await hub.call('/agents/pipit/grants', denial)).status).toBe(200)
  expect(await pipit()).toMatch(notGranted)
  const odd = await send({ ...daily, cron: '0 23 */2 * MON', base: '1', do: 'preview' })
  expect([...odd.html.matchAll(/>(Mon, [^<]+, 23:00)</g)].map(([, day]) => day)).toEqual([
    'Mon, 5 Jan 2026, 23:00',
    'Mon, 19 Jan 2026, 23:00',
    'Mon, 9 Feb 2026, 23:00',
    'Mon, 23 Feb 2026, 23:00',
    'Mon, 9 Mar 2026, 23:00',
  ])
  const wrong = await send({ ...daily, timezone: 'Mars/Olympus', base: '1', do: 'preview' })
  expect([wrong.status, wrong.html]).toEqual([400, expect.stringContaining('Unknown time zone')])

  expect((await send({ ...daily, base: '1', do: 'save' })).status).toBe(303)
  const saved = (await readDefinition('dipper')).files['config.yaml']
  expect(saved).toContain('# Keep this comment.')
  const due = () =>
    env.DB.prepare(
      `SELECT task FROM schedules s JOIN accounts a ON a.id = s.account_id WHERE a.name = 'dipper'`,
    ).all<{ task: string }>()
  expect((await due()).results).toEqual([{ task: 'Count <the> jars.' }])
  const key = JSON.stringify([daily.cron, daily.timezone, daily.task])
  expect((await send({ key, base: '1', do: 'pause' })).status).toBe(409)
  expect((await send({ key, base: '2', do: 'pause' }, other)).status).toBe(403)
  expect((await send({ key, base: '2', do: 'pause' })).status).toBe(303)
  expect((await due()).results).toEqual([])
  expect(await own.read(path)).toContain('value="resume"')
  expect((await send({ key, base: '3', do: 'resume' })).status).toBe(303)
  expect((await readDefinition('dipper')).files['config.yaml']).toBe(saved)
  expect((await due()).results).toHaveLength(1)
  const [, ...behindSummary] = (await own.read(path)).split(/<summary>\s*Delete/)
  expect(behindSummary.map((html) => html.includes('value="delete"'))).toEqual([true])
  expect((await own.read(path)).match(/value="delete"/g)).toHaveLength(1)
  expect((await send({ key, base: '4', do: 'delete' })).status).toBe(303)
  expect((await due()).results).toEqual([])
  expect((await send({ key, base: '5', do: 'delete' })).status).toBe(409)
})

test('D6: the owner edits a schedule in the browser: shown before it is saved, by the version it started from, and still paused', async () => {
  const xena = await hub.join('xena', 'human')
  const own = await signIn(hub, xena.key)
  await own.send('/agents/new', fields(configOf('siskin', 'hub:read'), 0, { do: 'save' }))
  const path = '/a/siskin/schedules'
  const send = async (form: Record<string, string>) => {
    const response = await own.send(path, form)
    return { status: response.status, html: await response.text() }
  }
  const add = async (task: string, base: string) =>
    send({ cron: '@daily', timezone: 'UTC', task, base, do: 'save' })
  await add('Count.', '1')
  await add('Weigh.', '2')
  const key = JSON.stringify(['@daily', 'UTC', 'Count.'])
  expect((await send({ key, base: '3', do: 'pause' })).status).toBe(303)
  const open = /<details class="up2" open[^>]*>(.*?)<\/details>/s
  const listed = await own.read(path)
  expect(listed).not.toMatch(open)
  expect(listed.match(/<summary class="meta">Edit/g)).toHaveLength(2)

  const sent = { key, cron: '0 9 * * 1-5', timezone: 'Europe/Berlin', task: 'Count <all>.' }
  const shown = await send({ ...sent, base: '4', do: 'preview' })
  expect(shown.status).toBe(200)
  for (const text of [
    'Fri, 2 Jan 2026, 09:00',
    'Next 24 hours at most',
    'Rehearsal',
    'stays paused',
  ])
    expect(shown.html).toContain(text)
  expect(shown.html).toContain(`name="key" value="${key.replaceAll('"', '&quot;')}"`)
  const back = (await send({ ...sent, base: '4', do: 'edit' })).html
  expect(open.exec(back)?.[1]).toContain('Count &lt;all&gt;.')
  const wrong = await send({ ...sent, cron: '61 * * * *', base: '4', do: 'preview' })
  expect([wrong.status, open.exec(wrong.html)?.[1]]).toEqual([
    400,
    expect.stringMatching(/aria-invalid="true"[^>]*value="61 \* \* \* \*"/),
  ])

  // The version is that of the form, also after a preview.
  const stale = await send({ ...sent, base: '3', do: 'preview' })
  expect(stale.html).toContain('name="base" value="3"')
  const conflict = await send({ ...sent, base: '3', do: 'save' })
  expect([conflict.status, open.exec(conflict.html)?.[1]]).toEqual([
    409,
    expect.stringContaining('name="base" value="4"'),
  ])
  expect((await send({ ...sent, base: '4', do: 'save' })).status).toBe(303)
  const { definition, files } = await readDefinition('siskin')
  expect(definition.version).toBe(5)
  expect(files['config.yaml']).toMatch(/Count <all>\.[^-]*paused: true[^>]*Weigh\./)
  const gone = await send({ ...sent, task: 'Count none.', base: '5', do: 'preview' })
  expect([gone.status, gone.html]).toEqual([409, expect.stringContaining('Count none.</textarea>')])
  expect(gone.html).not.toMatch(open)
})

test("T20: an admin who saves a member's agent lends its scheduled tasks nothing: they run for both", async () => {
  const vera = await hub.join('vera', 'human')
  const own = await signIn(hub, vera.key)
  await own.send('/agents/new', fields(configOf('linnet', 'hub:read'), 0, { do: 'save' }))
  const path = '/a/linnet/schedules'
  const save = async (by: Browser, task: string, base: string) => {
    const form = { cron: '@daily', timezone: 'UTC', task, base, do: 'save' }
    expect((await by.send(path, form)).status).toBe(303)
  }
  const { account: agent } = (await hub.call('/accounts/linnet', { key: vera.key })).body
  const key = JSON.stringify(['@daily', 'UTC', 'Count.'])
  const requesters = async () => {
    await env.DB.prepare('UPDATE schedules SET due_at = 1 WHERE account_id = ?')
      .bind(agent.id)
      .run()
    await createHubApi(hub.context).createScheduledTasks(
      [{ agentId: agent.id, key, dueAt: 1, nextAt: 2 }],
      hub.clock.now(),
    )
    const item = await env.DB.prepare('DELETE FROM inbox_items WHERE account_id = ? RETURNING *')
      .bind(agent.id)
      .first<{ requesters: string }>()
    return JSON.parse(item?.requesters ?? 'null')
  }
  await save(own, 'Count.', '1')
  expect(await requesters()).toEqual([vera.id])
  await save(admin, 'Weigh.', '2')
  const { id } = (await hub.call('/me', { key: adminKey })).body.account
  expect((await requesters()).sort()).toEqual([vera.id, id].sort())
  const html = await own.read(path)
  for (const name of ['vera', 'admin'])
    expect(html).toMatch(new RegExp(`for [^.]*@${name}[^.]*[.]`))
})
