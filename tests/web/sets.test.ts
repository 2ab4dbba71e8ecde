import { beforeAll, expect, test } from 'vitest'
import { trialLimits } from '../../src/shared/config'
import type { CommentId } from '../../src/shared/ids'
import { createReplays, type Replays } from '../hub/replays/create-replays'
import { type Browser, signIn } from './open-pages'
import { readFormFields } from './read-form'

let world: Replays
let mira: Browser
let ada: Browser
let run: { id: string; post: string }

beforeAll(async () => {
  world = await createReplays()
  mira = await signIn(world.hub, world.mira.key)
  ada = await signIn(world.hub, world.ada.key)
  run = await world.runOnce()
})

const cases = async (set: string) =>
  (await world.hub.call(set, { key: world.mira.key })).body.cases as Record<string, unknown>[]

/** Sends a form that leads to a page, and returns the address. */
async function follow(browser: Browser, path: string, fields: Record<string, string>) {
  const response = await browser.send(path, fields)
  expect([path, response.status]).toEqual([path, 303])
  return response.headers.get('location') ?? ''
}

/** Adds runs to a set of scout in the form of the list of runs. */
async function addRuns(name: string, runs = [run.id]): Promise<Response> {
  const fields = [...runs.map((id) => ['run', id]), ['set', name]]
  return world.hub.fetch('/runs/sets', {
    method: 'POST',
    headers: { ...ownOrigin(), 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
    redirect: 'manual',
  })
}

const ownOrigin = () => ({
  cookie: mira.cookie,
  origin: 'http://hub.test',
  'sec-fetch-site': 'same-origin',
})

/** The path of a set that has the run. */
async function newSet(name: string): Promise<string> {
  const place = (await addRuns(name)).headers.get('location') ?? ''
  return place.replace(/\?.*/, '')
}

test('P5: a set is created on the page of the sets of an agent, which its profile links to', async () => {
  expect(await mira.read('/a/scout')).toContain('href="/a/scout/sets"')
  expect(await ada.read('/a/scout')).not.toContain('/a/scout/sets')
  expect((await ada.get('/a/scout/sets')).status).toBe(403)
  const given = readFormFields(await mira.read('/a/scout/sets'), '/a/scout/sets')
  const set = await follow(mira, '/a/scout/sets', { ...given, name: 'Decisions' })
  expect(set).toMatch(/^\/sets\/[\w-]+$/)
  expect(await follow(mira, '/a/scout/sets', { ...given, name: 'Decisions' })).toBe(set)
  expect(await mira.read('/a/scout/sets')).toContain(`href="${set}"`)
  const again = await mira.send('/a/scout/sets', { name: 'Decisions' })
  expect(again.status).toBe(409)
  expect(await again.text()).toContain('value="Decisions"')
  expect((await mira.send('/a/scout/sets', { name: ' ' })).status).toBe(400)
  expect((await ada.get(set)).status).toBe(404)
})

test('P5: chosen runs of one agent are added to a set, which is created when it is new', async () => {
  const html = await mira.read('/runs')
  expect(html).toContain(`name="run" value="${run.id}"`)
  const place = await follow(mira, '/runs/sets', { run: run.id, set: 'Chosen' })
  const [set = ''] = place.split('?')
  expect(await mira.read(place)).toContain('1 added, 0 were there.')
  // whatever the case of the name
  const again = await follow(mira, '/runs/sets', { run: run.id, set: ' CHOSEN ' })
  expect(again).toBe(`${set}?added=0&kept=1`)
  expect(await mira.read(again)).toContain('0 added, 1 was there.')
  expect(await cases(set)).toMatchObject([{ activation_id: run.id }])
  expect(await mira.read('/runs')).toContain('<option value="Chosen"')
  const none = await mira.send('/runs/sets?agent=scout', { set: 'Chosen' })
  expect(none.status).toBe(400)
  const page = await none.text()
  expect(page).toContain('No run is chosen.')
  expect(page).toContain('action="/runs/sets?agent=scout"')
  expect((await mira.send('/runs/sets', { run: 'nothing', set: 'Chosen' })).status).toBe(404)
  expect((await ada.send('/runs/sets', { run: run.id, set: 'Mine' })).status).toBe(403)
})

test('P5: of chosen runs those are added that can be cases, and the page says why others are not', async () => {
  const { office, scout } = world
  await office.run(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version,
       started_at, deadline_at, requesters, program)
     VALUES ('of-program', ?, 'inbox', 'mention', 'done', 'granted', 'test/model', 1, 1, 2, '[]', 'claude')`,
    scout.id,
  )
  const response = await addRuns('Partly', [run.id, 'of-program'])
  expect(response.status).toBe(200)
  const page = await response.text()
  expect(page).toContain('1 added, 0 were there, 1 refused.')
  expect(page).toMatch(
    /href="\/activations\/of-program">Run<\/a>: The run was made by a coding agent/,
  )
  // with none that can be one no set is created
  expect((await addRuns('None', ['of-program'])).status).toBe(409)
  expect(await office.all('SELECT id FROM case_sets WHERE name = ?', 'None')).toEqual([])
  await office.run(`DELETE FROM activations WHERE id = 'of-program'`)
})

test('P5: runs of several agents are refused, and no set is created', async () => {
  const { office, scout } = world
  const wren = await office.createAgent('wren')
  await office.run('UPDATE accounts SET owner_id = ? WHERE id = ?', world.mira.id, wren.id)
  await office.run(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version,
       started_at, deadline_at, requesters) VALUES ('of-wren', ?, 'inbox', 'mention', 'done', 'granted', 'test/model', 1, 1, 2, '[]')`,
    wren.id,
  )
  await office.run(
    `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at) VALUES (?, 1, 'e', ?, 0)`,
    wren.id,
    world.mira.id,
  )
  const response = await addRuns('Mixed', [run.id, 'of-wren'])
  expect(response.status).toBe(409)
  expect(await response.text()).toContain('@scout and @wren')
  const sets = await office.all('SELECT name FROM case_sets WHERE name = ?', 'Mixed')
  expect(sets).toEqual([])
  expect(scout.id).not.toBe(wren.id)
})

test('P5: a run that was rated as bad becomes a test case with one button', async () => {
  const { hub, scout } = world
  const action = `/activations/${run.id}/case`
  expect(await mira.read(`/activations/${run.id}`)).not.toContain(action)
  const rate = (browser: Browser, note: string) =>
    browser.send(`/activations/${run.id}/feedback`, { value: 'down', note, next: '/' })
  await rate(ada, 'Of ada.')
  await rate(mira, 'The day is missing.')
  expect(await ada.read(`/activations/${run.id}`)).not.toContain(action)
  const rated = await mira.read(`/activations/${run.id}`)
  // not in the folded panel of the rating
  expect(rated).toMatch(new RegExp(`</details><form method="post" action="${action}">`))
  const place = await follow(mira, action, {})
  const [set = ''] = place.split('?')
  expect(await follow(mira, action, {})).toBe(place)
  // with the own note: that of others goes with their accounts
  expect(await cases(set)).toMatchObject([{ activation_id: run.id, note: 'The day is missing.' }])
  const page = await mira.read(place.replace(/#.*/, ''))
  expect(page).toContain('Bad answers')
  expect(page).toMatch(/name="note"[^>]*>The day is missing\.</)
  expect(page).toContain('Save case')
  const sets = (await hub.call('/agents/scout/sets', { key: world.mira.key })).body.sets
  expect(sets.map(({ name }: { name: string }) => name)).toContain('Bad answers')
  expect((await ada.send(action, {})).status).toBe(403)
  expect(scout.id).not.toBe('')
})

test('P5: the checks and the note of a case are changed in a form', async () => {
  const set = await newSet('Edited')
  const [{ id } = { id: '' }] = await cases(set)
  const action = `${set}/cases/${id}`
  const given = readFormFields(await mira.read(`${set}?edit=${id}`), action)
  const fields = {
    ...given,
    type_0: 'contains',
    value_0: ' wait ',
    type_1: 'cost_max',
    value_1: '$0,05',
    note: 'Name the day.',
  }
  expect(await follow(mira, action, fields)).toBe(`${set}#case-${id}`)
  const checks = [
    { type: 'contains', value: 'wait' },
    { type: 'cost_max', value: 50_000 },
  ]
  expect(await cases(set)).toMatchObject([{ checks, note: 'Name the day.' }])
  const shown = readFormFields(await mira.read(`${set}?edit=${id}`), action)
  expect(shown).toMatchObject({ type_1: 'cost_max', value_1: '0.05', note: 'Name the day.' })
  // A row that is emptied is a check less.
  const second = { ...shown, type_0: '', value_0: '', type_2: 'refuses', value_2: 'No' }
  await follow(mira, action, second)
  expect(await cases(set)).toMatchObject([
    { checks: [checks[1], { type: 'refuses', value: false }] },
  ])
  for (const wrong of [
    { type_0: 'words_max', value_0: 'few' },
    { type_0: 'cost_max', value_0: 'cheap' },
    { type_0: 'matches', value_0: '(' },
    { type_0: 'steps_max', value_0: 'many' },
    { type_0: 'refuses', value_0: 'perhaps' },
    { type_0: '', value_0: 'a value' },
    { type_0: 'contains', value_0: '' },
  ]) {
    const response = await mira.send(action, { ...wrong, note: 'Kept' })
    expect([wrong, response.status]).toEqual([wrong, 400])
    const page = await response.text()
    expect(page).toContain('aria-invalid')
    expect(page).toContain('Kept')
    expect(readFormFields(page, action)).toMatchObject(wrong)
  }
  // nothing that was typed is lost: what a value is for has to be said
  const unsaid = await mira.send(action, { ...shown, type_0: '', value_0: 'a value' })
  expect(await unsaid.text()).toMatch(
    /id="type_0-wrong">Choose what to check, or empty the value\./,
  )
  const blank = { type_0: '', value_0: '  ', type_1: 'contains_not', value_1: 'sorry' }
  const words = { type_2: 'words_max', value_2: ' 80 ' }
  await follow(mira, action, { ...blank, ...words, note: 'Name the day.' })
  expect(await cases(set)).toMatchObject([
    {
      checks: [
        { type: 'contains_not', value: 'sorry' },
        { type: 'words_max', value: 80 },
      ],
    },
  ])
  expect(await mira.read(set)).toContain('Words at most: 80')
  await follow(mira, action, { type_0: 'refuses', value_0: 'no', note: 'Name the day.' })
  expect(await cases(set)).toMatchObject([{ note: 'Name the day.' }])
  expect(await mira.read(set)).toContain('The agent does not refuse')
  await follow(mira, `/cases/${id}/delete`, {})
  expect(await cases(set)).toEqual([])
  expect(await follow(mira, `${set}/delete`, {})).toBe('/a/scout/sets')
})

test('P5: a set is renamed on its page', async () => {
  const set = await newSet('Before')
  await newSet('Another')
  const action = `${set}/rename`
  expect(readFormFields(await mira.read(set), action)).toMatchObject({ name: 'Before' })
  expect(await follow(mira, action, { name: 'After' })).toBe(set)
  expect(await mira.read(set)).toContain('<bdi>After</bdi>')
  for (const [name, status] of [
    ['ANOTHER', 409],
    [' ', 400],
  ] as const) {
    const refused = await mira.send(action, { name })
    expect([name, refused.status]).toEqual([name, status])
    expect(readFormFields(await refused.text(), action)).toMatchObject({ name })
  }
  expect((await ada.send(action, { name: 'Theirs' })).status).toBe(404)
})

test('P5: the page of a set shows the beginning of answers without markup', async () => {
  const { office, scout } = world
  const post = await office.post(world.mira.key, '@scout what **did** we decide?')
  const { activationId } = await office.start(scout.id)
  const reply = { id: office.newId<CommentId>(), postId: post, parentId: null, requesters: [] }
  const content = `## Decided\n\n- **Wait** for [the boat](/p/boat)\n\n${'and wait '.repeat(200)}`
  await office.commit(scout.id, activationId, { reply: { ...reply, content } })
  const place = (await addRuns('Marked', [activationId])).headers.get('location') ?? ''
  const page = await mira.read(place)
  expect(page).toMatch(/<bdi>Decided - Wait for the boat and wait [^<]{0,400}…<\/bdi>/)
  expect(page).toContain('@scout what did we decide?')
})

test('P5: from the page of a set the editor has the set chosen', async () => {
  await newSet('A first one')
  const set = await newSet('The chosen one')
  const [, id = ''] = set.split('/sets/')
  const path = `/a/scout/edit?set=${id}`
  expect(await mira.read(set)).toContain(`href="${path}"`)
  const editor = await mira.read(path)
  expect(editor).toMatch(
    /Change the definition, then <a class="ul" href="#try-on-set">try it on The chosen one/,
  )
  expect(readFormFields(editor, '/a/scout/edit').set).toBe(id)
  // what costs money starts when the change was looked at
  expect(editor).not.toContain('Start trial')
  expect(await mira.read('/a/scout/edit?set=nothing')).not.toContain('Change the definition, then')
})

/** Sends the form of an import. */
const sendImport = (set: string, fields: Record<string, string | File>): Promise<Response> => {
  const body = new FormData()
  for (const [name, value] of Object.entries(fields)) body.set(name, value)
  return world.hub.fetch(`${set}/import`, {
    method: 'POST',
    headers: { ...ownOrigin(), accept: 'text/html' },
    body,
  })
}

test('P5: a file of JSON lines is imported, and each refused line is named', async () => {
  const set = await follow(mira, '/a/scout/sets', { name: 'Imported' })
  const lines = `${JSON.stringify({ activation_id: run.id })}\nbroken\n`
  const response = await sendImport(set, { file: new File([lines], 'cases.jsonl') })
  expect(response.status).toBe(200)
  const page = await response.text()
  expect(page).toContain('1 added, 0 were there, 1 refused.')
  expect(page).toContain('Line 2: The line is not JSON.')
  expect(page).toContain(`href="/api/v1${set}/export"`)
})

test('P5: lines are pasted, and those that were refused stay in the form', async () => {
  const set = await follow(mira, '/a/scout/sets', { name: 'Pasted' })
  const line = JSON.stringify({ activation_id: run.id })
  const lines = `${line}\r\n{"activation_id": "none"}\r\nbroken <b>\r\n`
  const page = await (await sendImport(set, { lines })).text()
  expect(page).toContain('1 added, 0 were there, 2 refused.')
  const kept = readFormFields(page, `${set}/import`).lines
  expect(kept).toBe('{"activation_id": "none"}\r\nbroken <b>')
})

test.each<[string, () => Record<string, string | File>, number, string, string]>([
  ['nothing', () => ({ lines: ' ', file: '' }), 400, 'There is no case to import.', ''],
  [
    'a file that is no text',
    () => ({ file: new File([new Uint8Array([0xff, 0xfe, 0xc3])], 'cases.jsonl') }),
    ...([400, 'The cases are not text in UTF-8.', ''] as const),
  ],
  [
    'too much',
    () => ({ file: new File(['x'.repeat(trialLimits.importBytesMax + 20_000)], 'cases.jsonl') }),
    ...([413, 'Import at most 1024 KiB at a time.', ''] as const),
  ],
  [
    'too many lines',
    () => ({ lines: 'x\n'.repeat(trialLimits.importLinesMax + 1) }),
    ...([413, 'The import has more than 10,000 lines.', 'x\r\nx'] as const),
  ],
])(
  'P5: an import of %s is refused on the page of the set, with what to do',
  async (_, of, ...expected) => {
    const [status, words, kept] = expected
    const set = await newSet('Refused')
    const response = await sendImport(set, of())
    const page = await response.text()
    expect([response.status, page.includes(words)]).toEqual([status, true])
    expect(page).toContain('<bdi>Refused</bdi>')
    expect(readFormFields(page, `${set}/import`).lines?.startsWith(kept)).toBe(true)
  },
)
