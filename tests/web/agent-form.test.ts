import { beforeAll, expect, test } from 'vitest'
import { checkDefinition } from '../../src/agents/definitions/check-definition'
import { templates } from '../../src/agents/definitions/templates'
import { createModelRegistry } from '../../src/agents/models/registry'
import { isGranted } from '../../src/mcp-servers/gateway/decide'
import { readSettings } from '../../src/shared/settings'
import { changeCron, toCron, toPickedTime } from '../../src/web/agents/agent-form'
import { adminKey, createTestHub, readCost } from '../hub/create-test-hub'
import { type Browser, signIn } from './open-pages'
import { readFormFields } from './read-form'

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

const config = `# Kept.
name: heron
description: >
  Counts plums,
  and pears.
x_team: [fruit,  trees]   # not of this hub
brain: { max_cost_per_day: 0.50 }   # US dollars
capabilities:
  grants:
    - hub:read # all of it
    - "acme:read"
behavior:
  schedule:
    - cron: "@daily" # at night
      task: Count.
`
const prompt = '\nYou are {{name}}.  \r\nCount.\n'
const readFiles = async (name: string) =>
  (await hub.call(`/agents/${name}/definition`, { key: adminKey })).body
const put = async (name: string, files: Record<string, string>) => {
  const answer = await hub.call(`/agents/${name}/definition`, {
    method: 'PUT',
    key: adminKey,
    body: { files },
  })
  expect(answer.status).toBe(200)
}
const heron = { 'config.yaml': config, 'system-prompt.md': prompt }

/** Opens the form, changes fields as a person does (null unchecks), and presses a button. */
async function fill(path: string, changed: Record<string, string | null>, button: string) {
  return press(path, await admin.read(path), changed, button)
}
async function press(
  path: string,
  html: string,
  changed: Record<string, string | null>,
  button: string,
) {
  const [action = ''] = path.split('?')
  const all = { ...readFormFields(html, action), ...changed, do: button }
  const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null)
  const response = await admin.send(action, Object.fromEntries(sent))
  return { status: response.status, html: await response.text(), headers: response.headers }
}
const textOf = (html: string) => html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')

test('D1: the form of an agent that is saved as it was shown changes no byte of any file', async () => {
  const skill = '---\r\nname: count\r\ndescription: Counts.\r\n---\r\nCount.'
  await put('heron', { ...heron, 'skills/count/SKILL.md': skill })
  for (const { name, files } of templates) await put(name, files)
  for (const name of ['heron', ...templates.map((each) => each.name)]) {
    const before = await readFiles(name)
    const saved = await fill(`/a/${name}/edit`, {}, 'save')
    expect(saved.status, name).toBe(303)
    expect((await readFiles(name)).files, name).toEqual(before.files)
    expect((await readFiles(name)).definition.version, name).toBe(before.definition.version)
  }
})

test('D1: the form changes its fields in the files, and shows what will change before', async () => {
  const page = await admin.get('/a/heron/edit')
  expect(readCost(page.headers).roundTrips).toBe(1)
  expect(await page.text()).toContain('Edit as files')
  const changes = {
    model: 'offline/extractive',
    budget: '2',
    'grant hub:write': 'on',
    'grant acme:read': null,
    explores: 'hourly',
    schedule_every: 'weekdays',
    schedule_hour: '9',
    schedule_minute: '30',
    schedule_timezone: 'Europe/Berlin',
    answers_dms: null,
  }
  const shown = await fill('/a/heron/edit', changes, 'preview')
  const text = textOf(shown.html)
  expect(text).toContain('requests hub:write')
  expect(text).toContain('no longer requests acme:read')
  expect(text).toMatch(/now: \$2\.00/)
  expect(text).toMatch(/Next runs \(Europe\/Berlin\) (?:\w{3}, \d+ Jan 2026, 09:30 .{0,40}UTC ){5}/)
  expect(shown.html).toContain('Save and start exploring')
  const saved = await press('/a/heron/edit', shown.html, {}, 'save')
  expect(saved.status).toBe(303)
  const { files } = await readFiles('heron')
  expect(files['config.yaml']).toBe(`# Kept.
name: heron
description: >
  Counts plums,
  and pears.
x_team: [fruit,  trees]   # not of this hub
brain: { max_cost_per_day: 2, provider: offline, model: extractive }   # US dollars
capabilities:
  grants:
    - hub:read # all of it
    - hub:write
behavior:
  schedule:
    - cron: 30 9 * * 1-5 # at night
      task: Count.
      timezone: Europe/Berlin
  discovery:
    frequency: hourly
  respond_to_dms: false
`)
  expect(files['system-prompt.md']).toBe(prompt)
  expect(files['skills/count/SKILL.md']).toContain('\r\n')
})

test('D3: what cannot be saved is said at its field, with what was typed', async () => {
  const money = await fill('/a/heron/edit', { budget: '5 cents' }, 'save')
  expect(money.status).toBe(422)
  expect(money.html).toMatch(/<input[^>]*name="budget"[^>]*value="5 cents"/)
  expect(money.html).toContain('id="budget-wrong"')
  const ways = await fill('/a/heron/edit', { budget: '1.000' }, 'save')
  expect([ways.status, textOf(ways.html)]).toEqual([
    422,
    expect.stringContaining('1.000 can be read in two ways: enter 1.0000 or 1000.'),
  ])
  const task = await fill('/a/heron/edit', { schedule_task: ' ' }, 'preview')
  expect([task.status, task.html.includes('id="schedule_task-wrong"')]).toEqual([422, true])
  const zone = await fill('/a/heron/edit', { schedule_timezone: 'Mars/Crater' }, 'save')
  expect([zone.status, zone.html.includes('id="schedule_timezone-wrong"')]).toEqual([422, true])
  const city = await fill('/a/heron/edit', { schedule_timezone: 'Berlin' }, 'preview')
  expect(city.html).toMatch(/id="schedule_timezone-wrong">[^<]*Did you mean Europe\/Berlin\?</)
  expect(textOf(city.html)).toContain('Correct the marked field below.')
  expect(city.html).not.toContain('behavior.schedule')
  const name = await fill('/agents/new?template=my-agent', { name: 'Not A Name' }, 'save')
  expect([name.status, name.html.includes('id="name-wrong"')]).toEqual([422, true])
  expect(name.html).toMatch(/<input[^>]*name="name"[^>]*value="Not A Name"/)
  expect((await readFiles('heron')).definition.version).toBe(2)
})

test('D1: form and files are two views of the same unsaved definition', async () => {
  const files = await fill('/a/heron/edit', { budget: '3' }, 'files')
  expect(files.html).toContain('max_cost_per_day: 3,')
  const config = (readFormFields(files.html, '/a/heron/edit')['config.yaml'] ?? '').replace(
    '# Kept.',
    '# Kept here.',
  )
  const form = await press('/a/heron/edit', files.html, { 'config.yaml': config }, 'form')
  expect(form.html).toMatch(/<input[^>]*name="budget"[^>]*value="3.00"/)
  expect((await press('/a/heron/edit', form.html, {}, 'save')).status).toBe(303)
  expect((await readFiles('heron')).files['config.yaml']).toMatch(/^# Kept here\./)
  // What is no YAML has no form.
  const broken = await press('/a/heron/edit', files.html, { 'config.yaml': 'name: [' }, 'form')
  expect([broken.status, broken.html.includes('name="config.yaml"')]).toEqual([422, true])
})

test('D6: a new agent does nothing on its own unless the person who creates it says so on the button', async () => {
  const plain = await fill('/agents/new?template=my-agent&name=plum', { name: 'plum' }, 'preview')
  expect(plain.html).toMatch(/>Create agent</)
  expect(textOf(plain.html)).toContain('Runs unasked never')
  expect((await press('/agents/new', plain.html, {}, 'save')).headers.get('location')).toBe(
    '/a/plum',
  )
  const { files } = await readFiles('plum')
  expect(files['config.yaml']).not.toMatch(/discovery|schedule/)
  const busy = await fill(
    '/agents/new?template=my-agent',
    { name: 'pear', explores: 'daily', schedule_every: 'hour', schedule_task: 'Count' },
    'preview',
  )
  expect(busy.html).toContain('Create agent and start exploring and start its schedule')
})

test('D6: a time that the selects can say is a cron line and back, and an unchanged one stays as it is written', () => {
  const written = [
    '5 * * * *',
    '0 9 * * *',
    '30 17 * * 1-5',
    '0 9 * * 0',
    '15 0 28 * *',
    '*/7 1-3 * 2 *',
  ]
  for (const cron of written) {
    expect(toCron(toPickedTime(cron))).toBe(cron)
    expect(changeCron(cron, toPickedTime(cron))).toBe(cron)
  }
  expect(toPickedTime('@daily')).toMatchObject({ every: 'day', hour: '0', minute: '0' })
  expect(changeCron('@daily', toPickedTime('@daily'))).toBe('@daily')
  expect(changeCron('@daily', { ...toPickedTime('@daily'), hour: '6' })).toBe('0 6 * * *')
  expect(changeCron('@daily', { ...toPickedTime('@daily'), every: 'none' })).toBeNull()
})

test('D3: a name as people write it becomes one that can be mentioned, with a note, and is shown as it was written', async () => {
  const path = (name: string) => `/agents/new?template=my-agent&name=${encodeURIComponent(name)}`
  const html = await admin.read(path('Tea Bot'))
  expect(html).toMatch(/<input[^>]*name="name"[^>]*value="tea-bot"/)
  expect(html).toMatch(/<input[^>]*name="display_name"[^>]*value="Tea Bot"/)
  expect(textOf(html)).toContain('People mention it as @tea-bot')
  const saved = await press('/agents/new', html, { budget: '0,25' }, 'save')
  expect([saved.status, saved.headers.get('location')]).toEqual([303, '/a/tea-bot'])
  expect((await readFiles('tea-bot')).files['config.yaml']).toContain('max_cost_per_day: 0.25')
  for (const [typed, name] of Object.entries({
    'Crème Brûlée': 'creme-brulee',
    '  a__b!! ': 'a-b',
    ['x'.repeat(40)]: 'x'.repeat(32),
    kestrel: 'kestrel',
    // nothing of it can stand in a name, so the form says what a name is
    日本: '日本',
  }))
    expect(await admin.read(path(typed))).toContain(`value="${name}"`)
  expect(await admin.read(path('kestrel'))).not.toContain('People mention it as')
})

test('D1: the form makes a coding agent, whose template is offered, and says at the field what is wrong', async () => {
  expect(await admin.read('/agents/new')).toContain('value="coder"')
  const coding = { program: 'codex', repository: 'github:octo/parser' }
  const bad = await fill('/a/tea-bot/edit', { ...coding, repository: 'octo/parser' }, 'save')
  expect([bad.status, bad.html.includes('id="repository-wrong"')]).toEqual([422, true])
  expect((await fill('/a/tea-bot/edit', coding, 'save')).status).toBe(303)
  const { files } = await readFiles('tea-bot')
  expect(files['config.yaml']).toMatch(
    /type: codex\nworkspace:\n {2}repository: github:octo\/parser/,
  )
})

test('S7: the time zone of a first schedule is that of the browser, UTC without scripts', async () => {
  const zone = /<input[^>]*name="schedule_timezone"[^>]*>/
  expect(zone.exec(await admin.read('/agents/new?template=my-agent'))?.[0]).toMatch(
    /(?=.*value="UTC")(?=.*data-is-unset)/,
  )
  expect(zone.exec(await admin.read('/a/heron/edit'))?.[0]).not.toContain('data-is-unset')
})

test('P7: the trial of changes is set with fields, and what is wrong with it is said at its field', async () => {
  const files = { ...heron, 'config.yaml': config.replace('name: heron', 'name: plover') }
  await put('plover', files)
  const path = '/a/plover/edit'
  expect(await admin.read(path)).toContain('Once it has a set of recorded runs')
  const { body } = await hub.call('/agents/plover/sets', {
    key: adminKey,
    body: { name: 'Bad answers' },
  })
  expect(body.set?.is_gate).toBe(false)
  const typed = {
    trial_set: 'Bad answers',
    trial_worse_max: '2',
    trial_cost_change_max: '12,5',
    trial_repeats: '3',
  }
  const shown = await fill(
    path,
    { ...typed, trial_worse_max: 'some', trial_cost_change_max: 'x' },
    'preview',
  )
  expect(shown.status).toBe(422)
  const wrong = shown.html
  expect(wrong).toContain('id="trial_worse_max-wrong"')
  expect(wrong).toContain('id="trial_cost_change_max-wrong"')
  expect(wrong).toContain('value="some"')

  expect((await fill(path, typed, 'save')).status).toBe(303)
  const saved = (await readFiles('plover')).files['config.yaml']
  expect(saved).toBe(
    `${files['config.yaml']}trial:\n  set: Bad answers\n  worse_max: 2\n  cost_change_max: 0.125\n  repeats: 3\n`,
  )
  const html = await admin.read(path)
  expect(html).toContain('value="12.5"')

  const unknown = await fill(path, { trial_set: 'Nowhere' }, 'save')
  expect(unknown.status).toBe(422)
  expect(unknown.html).toMatch(/id="trial_set-wrong">The agent has no set Nowhere/)
  const removed = await fill(path, { trial_set: '' }, 'save')
  expect([removed.status, removed.headers.get('location')]).toEqual([303, '/a/plover/held'])
})
