import { beforeAll, expect, test } from 'vitest'
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
  const set = await follow(mira, '/runs/sets', { run: run.id, set: 'Chosen' })
  expect(await follow(mira, '/runs/sets', { run: run.id, set: 'Chosen' })).toBe(set)
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

test('P5: runs of several agents are refused, and no set is created', async () => {
  const { office, hub, scout } = world
  const wren = await office.createAgent('wren')
  await office.run('UPDATE accounts SET owner_id = ? WHERE id = ?', world.mira.id, wren.id)
  await office.run(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version,
       started_at, deadline_at, requesters) VALUES ('of-wren', ?, 'inbox', 'mention', 'done', 'granted', 'test/model', 1, 1, 2, '[]')`,
    wren.id,
  )
  await office.run(
    `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at) VALUES (?, 1, 'e', ?, 0)`,
    ...[wren.id, world.mira.id],
  )
  const fields = new URLSearchParams([
    ['run', run.id],
    ['run', 'of-wren'],
    ['set', 'Mixed'],
  ])
  const response = await hub.fetch('/runs/sets', {
    method: 'POST',
    headers: {
      ...{ cookie: mira.cookie, origin: 'http://hub.test', 'sec-fetch-site': 'same-origin' },
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: fields.toString(),
  })
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
  await ada.send(`/activations/${run.id}/feedback`, { value: 'down', note: '', next: '/' })
  expect(await ada.read(`/activations/${run.id}`)).not.toContain(action)
  expect(await mira.read(`/activations/${run.id}`)).toContain(`action="${action}"`)
  const place = await follow(mira, action, {})
  const [set = ''] = place.split('?')
  expect(await follow(mira, action, {})).toBe(place)
  expect(await cases(set)).toMatchObject([{ activation_id: run.id }])
  const page = await mira.read(place.replace(/#.*/, ''))
  expect(page).toContain('Bad answers')
  expect(page).toContain('Save case')
  const sets = (await hub.call('/agents/scout/sets', { key: world.mira.key })).body.sets
  expect(sets.map(({ name }: { name: string }) => name)).toContain('Bad answers')
  expect((await ada.send(action, {})).status).toBe(403)
  expect(scout.id).not.toBe('')
})

test('P5: the checks and the note of a case are changed in a form', async () => {
  const set = await follow(mira, '/runs/sets', { run: run.id, set: 'Edited' })
  const [{ id } = { id: '' }] = await cases(set)
  const action = `${set}/cases/${id}`
  const given = readFormFields(await mira.read(`${set}?edit=${id}`), action)
  const fields = {
    ...given,
    ...{ type_0: 'contains', value_0: ' wait ', type_1: 'cost_max', value_1: '0.05' },
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
  const second = { ...shown, ...{ type_0: '', value_0: '', type_2: 'refuses', value_2: 'No' } }
  await follow(mira, action, second)
  expect(await cases(set)).toMatchObject([
    { checks: [checks[1], { type: 'refuses', value: false }] },
  ])
  for (const wrong of [
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
  }
  expect(await cases(set)).toMatchObject([{ note: 'Name the day.' }])
  expect(await mira.read(set)).toContain('The agent does not refuse')
  await follow(mira, `/cases/${id}/delete`, {})
  expect(await cases(set)).toEqual([])
  expect(await follow(mira, `${set}/delete`, {})).toBe('/a/scout/sets')
})

test('P5: a file of JSON lines is imported, and each refused line is named', async () => {
  const set = await follow(mira, '/a/scout/sets', { name: 'Imported' })
  const lines = `${JSON.stringify({ activation_id: run.id })}\nbroken\n`
  const body = new FormData()
  body.set('file', new File([lines], 'cases.jsonl'))
  const response = await world.hub.fetch(`${set}/import`, {
    method: 'POST',
    headers: { cookie: mira.cookie, origin: 'http://hub.test', 'sec-fetch-site': 'same-origin' },
    body,
  })
  expect(response.status).toBe(200)
  const page = await response.text()
  expect(page).toContain('1 added, 0 were there, 1 refused.')
  expect(page).toContain('Line 2: The line is not JSON.')
  expect(page).toContain(`href="/api/v1${set}/export"`)
})
