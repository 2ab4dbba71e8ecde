import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { DefinitionFiles } from '../../src/agents/contract/agents'
import { factsOf } from '../hub/replays/create-replays'
import { createTrials, type Play, type Trials } from '../hub/trials/create-trials'
import { type Browser, signIn } from './open-pages'
import { readFormFields } from './read-form'

/** A hub in which changes of scout have to pass a trial on one of its runs. */
let world: Trials
let mira: Browser
let admin: Browser
let ada: Browser
let set: string

const gate = { set: 'tried', worseMax: 0, costChangeMax: 0.2, repeats: 1 }
const toEtag = (files: DefinitionFiles) => `etag of ${files['system-prompt.md']}`

beforeAll(async () => {
  world = await createTrials()
  const { hub, office, createSet, runMany, scout } = world
  const runs = await runMany(1)
  set = await createSet(runs.map(({ id }) => id))
  await office.run(`UPDATE case_sets SET name = 'tried', name_key = 'tried' WHERE id = ?`, set)
  hub.seen.check = (files) => ({ ok: true, facts: factsOf({ etag: toEtag(files), trial: gate }) })
  const [first] = hub.seen.kept
  if (!first) throw new Error('no definition is kept')
  first.etag = toEtag(first.files)
  await office.run(
    'UPDATE agent_definitions SET etag = ? WHERE account_id = ?',
    first.etag,
    scout.id,
  )
  await office.run(
    'UPDATE agents SET definition_etag = ?, gate = ? WHERE account_id = ?',
    first.etag,
    JSON.stringify({ ...gate, setKey: gate.set }),
    scout.id,
  )
  mira = await signIn(hub, world.mira.key)
  ada = await signIn(hub, world.ada.key)
  admin = await signIn(hub)
})

beforeEach(() => world.office.run('DELETE FROM held_definitions'))

const page = '/a/scout/held'

/** Saves a change; the id of its trial and its hash. */
async function save(prompt: string): Promise<{ trial_id: string; etag: string }> {
  const { hub, mira, files } = world
  const { body } = await hub.call('/agents/scout/definition', { key: mira.key })
  const saved = await hub.call('/agents/scout/definition', {
    method: 'PUT',
    key: mira.key,
    body: {
      files: { ...files, 'system-prompt.md': prompt },
      base_version: body.definition.version,
    },
  })
  if (saved.status !== 200) throw new Error(JSON.stringify(saved.body))
  await hub.settle()
  return saved.body.held
}

const differing: Play = ({ lane }) => ({ answer: lane === 'baseline' ? 'We wait.' : 'We act.' })

test('P7: the page of a change follows its trial, asks people to compare, and then says what became of it', async () => {
  const { playTrial, sweep, readTrial, hub } = world
  const { trial_id } = await save('Act.')
  const waiting = await mira.read(page)
  expect(waiting).toContain('data-running')
  expect(waiting).toContain('0 of 1')
  expect(waiting).toContain(`href="/trials/${trial_id}"`)
  expect(waiting).not.toContain('/compare')
  expect(await mira.read(`/trials/${trial_id}`)).toMatch(
    /waits for this trial to be applied\. <a href="\/a\/scout\/held">/,
  )

  await playTrial(trial_id, differing)
  await sweep()
  const asking = await mira.read(page)
  expect(asking).not.toContain('data-running')
  expect(asking).toMatch(new RegExp(`href="/trials/${trial_id}/compare">\\s*Compare 1.case<`))

  const { cases } = await readTrial(trial_id)
  await hub.call(`/trials/${trial_id}/cases/${cases[0].id}/verdict`, {
    key: world.mira.key,
    body: { says: 'same' },
  })
  await sweep()
  const over = await mira.read(page)
  const version = (await hub.call('/agents/scout/definition', { key: world.mira.key })).body
    .definition.version
  expect(over).toMatch(
    new RegExp(`The last change passed its trial and was applied as version ${version}`),
  )
  expect(over).toContain(`href="/a/scout/versions?show=${version}#changes"`)
  expect(over).toContain(`href="/trials/${trial_id}"`)
  expect(over).not.toContain('data-running')
  expect(await mira.read(`/trials/${trial_id}`)).toContain(`is version ${version} of scout`)
})

test('P7: discarding asks once, and its page says who did, also to somebody who decides too late', async () => {
  const { etag } = await save('Never mind.')
  const open = await mira.read(page)
  expect(open).toMatch(/<details class="danger[^>]*><summary>Discard the change<\/summary>/)
  expect(open).not.toContain('Apply change')
  const path = `${page}/discard`
  expect(readFormFields(open, path)).toEqual({ etag })
  const sent = await mira.send(path, { etag })
  expect([sent.status, sent.headers.get('location')]).toEqual([303, page])
  expect(await mira.read(page)).toContain('The last change was discarded by @mira')
  const late = await admin.send(`${page}/apply`, { etag, reason: 'It is urgent.' })
  expect(late.status).toBe(409)
  expect(await late.text()).toContain('The change was discarded by @mira already.')
  expect((await admin.send(path, { etag })).status).toBe(409)
})

test('P7: a change that another one took the place of is listed with what became of it', async () => {
  const { playTrial, sweep, hub, office } = world
  await office.run(
    'UPDATE cases SET checks = ?',
    JSON.stringify([{ type: 'contains', value: 'wait' }]),
  )
  const first = await save('Worse.')
  await playTrial(first.trial_id, differing)
  await sweep()
  expect(await mira.read(page)).toContain('Not applied: It does worse')
  await office.run(`UPDATE cases SET checks = '[]'`)
  hub.clock.advance(1)
  await save('Mended.')
  const html = await mira.read(page)
  expect(html).toMatch(/Earlier changes[\s\S]*Was replaced by another one by @mira/)
  expect(html).toContain(`href="/trials/${first.trial_id}"`)
})

test('P7: a change that needs a person is on the page of its agent, on the approvals page and in the count of the menu', async () => {
  const { office } = world
  const count = (html: string) => /Approvals<b> (\d+)<\/b>/.exec(html)?.[1] ?? '0'
  const read = async (browser: Browser) => {
    const html = await browser.read('/approvals')
    return [html.includes(`href="${page}"`), count(html)]
  }
  await save('For a person.')
  const note = 'A change of scout waits for its trial.'
  expect(await mira.read('/a/scout')).toContain(note)
  expect(await ada.read('/a/scout')).not.toContain(note)
  expect(await world.hub.fetch('/a/scout').then((page) => page.text())).not.toContain(note)
  for (const browser of [mira, admin, ada]) expect(await read(browser)).toEqual([false, '0'])

  await office.run(`UPDATE held_definitions SET problem = 'It is worse.'`)
  expect(await mira.read('/a/scout')).toContain('A change of scout was not applied.')
  // only an admin applies it; the count is of what the viewer decides
  expect(await read(mira)).toEqual([true, '0'])
  expect(await read(admin)).toEqual([true, '1'])
  expect(await read(ada)).toEqual([false, '0'])

  await office.run('UPDATE held_definitions SET problem = NULL')
  await office.run('UPDATE trials SET finished_at = 1 WHERE finished_at IS NULL')
  expect(await read(admin)).toEqual([false, '0'])
  await office.run(`UPDATE trial_cases SET state = 'done' WHERE state IN ('queued', 'running')`)
  expect(await read(admin)).toEqual([true, '1'])
  await office.run(`UPDATE held_definitions SET outcome = 'discarded'`)
  expect(await read(admin)).toEqual([false, '0'])
  expect(await mira.read('/a/scout')).not.toContain('A change of scout')
})

test('P7 P8: the editor says beside its button on what a save is tried first, and what that costs', async () => {
  const editor = '/a/scout/edit'
  const preview = async () => {
    const html = await mira.read(`${editor}?view=files`)
    const fields = {
      ...readFormFields(html, editor),
      'system-prompt.md': 'Be brief.',
      do: 'preview',
    }
    return (await mira.send(editor, fields)).text()
  }
  const shown = await preview()
  expect(shown).toMatch(/value="save">\s*Save and try on tried</)
  expect(shown).toMatch(/is tried on tried first[\s\S]*It runs 1.case once[\s\S]*takes at most/)

  await world.office.run(
    `UPDATE case_sets SET name = 'other', name_key = 'other' WHERE id = ?`,
    set,
  )
  const without = await preview()
  await world.office.run(
    `UPDATE case_sets SET name = 'tried', name_key = 'tried' WHERE id = ?`,
    set,
  )
  expect(without).toMatch(/value="save">\s*Save</)
  expect(without).toContain('The set does not exist, so the change waits for an admin.')
})

test('P7: the page of a set says whether changes have to pass it, and deletes none that they have to', async () => {
  const other = await world.createSet([])
  const ofGate = await mira.read(`/sets/${set}`)
  expect(ofGate).toContain('Each change of scout has to pass a trial on this set')
  expect(ofGate).not.toContain(`action="/sets/${set}/delete"`)
  const ofOther = await mira.read(`/sets/${other}`)
  expect(ofOther).toContain('Each change of scout can be tried on this set')
  expect(ofOther).toContain('href="/a/scout/edit#trial"')
  expect(ofOther).toContain(`action="/sets/${other}/delete"`)
  await world.office.run('UPDATE trials SET finished_at = 1 WHERE finished_at IS NULL')
  const refused = await mira.send(`/sets/${set}/delete`, {})
  expect(refused.status).toBe(409)
  expect(await refused.text()).toContain('Take trial out of the config.yaml of scout')
})

test('P7: who may not edit the agent sees no change of it', async () => {
  await save('Private.')
  expect((await ada.get(page)).status).toBe(403)
})
