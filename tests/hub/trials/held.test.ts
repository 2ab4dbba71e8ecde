import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { DefinitionFiles } from '../../../src/agents/contract/agents'
import type { TrialGate } from '../../../src/hub/contract/hub'
import { adminKey } from '../create-test-hub'
import { factsOf } from '../replays/create-replays'
import { createTrials, type Play, type Trials } from './create-trials'

/** A hub in which changes of scout have to pass a trial on two of its runs. */
let world: Trials
let gate: TrialGate

const toEtag = (files: DefinitionFiles) => `etag of ${files['system-prompt.md']}`

beforeAll(async () => {
  world = await createTrials()
  const { hub, office, createSet, runMany, scout } = world
  const runs = await runMany(2)
  const id = await createSet(
    runs.map((each) => each.id),
    [{ type: 'contains', value: 'wait' }],
  )
  await office.run(`UPDATE case_sets SET name = 'tried' WHERE id = ?`, id)
  hub.seen.check = (files) => ({ ok: true, facts: factsOf({ etag: toEtag(files), trial: gate }) })
  hub.seen.findReplayProblem = () => null
  hub.seen.listReads = () => ({ posts: [], comments: [] })
  const [first] = hub.seen.kept
  if (!first) throw new Error('no definition is kept')
  const etag = toEtag(first.files)
  first.etag = etag
  await office.run('UPDATE agent_definitions SET etag = ? WHERE account_id = ?', etag, scout.id)
  await office.run('UPDATE agents SET definition_etag = ? WHERE account_id = ?', etag, scout.id)
})

beforeEach(async () => {
  gate = { set: 'tried', worseMax: 0, costChangeMax: null, repeats: 1 }
  await world.office.run('DELETE FROM held_definitions')
})

const read = async () =>
  (await world.hub.call('/agents/scout/definition', { key: world.mira.key })).body

const save = async (prompt: string, key = world.mira.key) => {
  const { definition } = await read()
  const { status, body } = await world.hub.call('/agents/scout/definition', {
    method: 'PUT',
    key,
    body: {
      files: { ...world.files, 'system-prompt.md': prompt },
      base_version: definition.version,
    },
  })
  expect(status, JSON.stringify(body)).toBe(200)
  await world.hub.settle()
  return body
}

const apply = (key: string, etag: string) =>
  world.hub.call('/agents/scout/definition/held/apply', {
    key,
    body: { etag, reason: 'It is urgent.' },
  })

/** The candidate answers otherwise than the checks want. */
const worse: Play = ({ lane }) => ({ answer: lane === 'candidate' ? 'No idea.' : 'We wait.' })

const trialsOf = () => world.office.all('SELECT id FROM trials')

describe('a change that has to pass a trial', () => {
  test('P7: is kept aside, and becomes the active version once it has passed', async () => {
    const { playTrial, sweep } = world
    const before = await read()
    const { definition, held } = await save('Be brief.')
    expect(definition.version).toBe(before.definition.version)
    expect(held).toMatchObject({
      etag: 'etag of Be brief.',
      base_version: before.definition.version,
      set: 'tried',
      trial_id: expect.any(String),
      problem: null,
      saved_by: { name: 'mira' },
    })
    await sweep()
    expect((await read()).held).toEqual(held)
    await playTrial(held.trial_id)
    await sweep()
    const after = await read()
    expect(after.definition).toMatchObject({
      version: before.definition.version + 1,
      etag: 'etag of Be brief.',
    })
    expect(after.held).toBeNull()
    expect(after.files['system-prompt.md']).toBe('Be brief.')
  })

  test('P7: is applied once, whatever is interrupted after that', async () => {
    const { playTrial, sweep, office } = world
    const { held } = await save('Be exact.')
    const [row] = await office.all<Record<string, string>>('SELECT * FROM held_definitions')
    await playTrial(held.trial_id)
    await sweep()
    const { definition } = await read()
    const columns = Object.keys(row ?? {})
    await office.run(
      `INSERT INTO held_definitions (${columns}) VALUES (${columns.map(() => '?')})`,
      ...Object.values(row ?? {}),
    )
    await sweep()
    expect(await read()).toMatchObject({
      held: null,
      definition: { version: definition.version, etag: 'etag of Be exact.' },
    })
  })

  test('P7: stays aside when it does worse; only an admin applies it all the same, with a reason', async () => {
    const { playTrial, sweep, mira, hub } = world
    const before = await read()
    const { held } = await save('Say little.')
    await playTrial(held.trial_id, worse)
    await sweep()
    const after = await read()
    expect(after.definition).toEqual(before.definition)
    expect(after.held.problem).toMatch(/^It does worse in 2\scases, and none may be\.$/)
    expect((await apply(mira.key, held.etag)).status).toBe(403)
    expect((await apply(adminKey, 'of another change')).status).toBe(409)
    expect((await apply(adminKey, held.etag)).status).toBe(200)
    expect(await read()).toMatchObject({
      held: null,
      definition: { etag: 'etag of Say little.', version: before.definition.version + 1 },
    })
    const { body } = await hub.call('/admin/log', { key: adminKey })
    expect(body.entries).toContainEqual(
      expect.objectContaining({
        action: 'definition.apply_untried',
        after: expect.objectContaining({ reason: 'It is urgent.', trial_id: held.trial_id }),
      }),
    )
  })

  test('P7: starts one trial however often it is saved; no other change takes its place', async () => {
    const { readTrial, sweep, files, hub, mira } = world
    const { held } = await save('First.')
    const count = (await trialsOf()).length
    expect((await save('First.')).held).toEqual(held)
    expect(await trialsOf()).toHaveLength(count)
    for (const key of [mira.key, adminKey]) {
      const other = { ...files, 'system-prompt.md': 'Second.' }
      const base_version = (await read()).definition.version
      const request = { method: 'PUT', key, body: { files: other, base_version } }
      const { status, body } = await hub.call('/agents/scout/definition', request)
      expect(status).toBe(409)
      expect(body.error).toBe('A change of scout by @mira waits already.')
    }
    expect((await readTrial(held.trial_id)).status).not.toBe('cancelled')
    await sweep()
    expect((await read()).held).toEqual(held)
  })

  test('P7: grants that an admin allows with the same change wait with it', async () => {
    const { office, hub, files } = world
    const { held } = await save('With more tools.')
    const body = {
      files: { ...files, 'system-prompt.md': 'With more tools.' },
      base_version: (await read()).definition.version,
      allow_grants: ['memory:read'],
    }
    const request = { method: 'PUT', key: adminKey, body }
    const { body: again } = await hub.call('/agents/scout/definition', request)
    expect(again.held).toMatchObject({ trial_id: held.trial_id, etag: held.etag })
    expect(await office.all('SELECT allow_grants AS grants FROM held_definitions')).toEqual([
      { grants: '["memory:read"]' },
    ])
  })

  test('P7: that has not passed is replaced by whoever saved it, and passes when people say so', async () => {
    const { playTrial, readTrial, sweep, hub, mira } = world
    const { held } = await save('Too short.')
    await playTrial(held.trial_id, worse)
    await sweep()
    expect((await read()).held.problem).toMatch(/^It does worse/)
    const { cases } = await readTrial(held.trial_id)
    for (const { id } of cases) {
      const { body } = await hub.call(`/trials/${held.trial_id}/cases/${id}/verdict`, {
        key: mira.key,
        body: { says: 'same' },
      })
      expect(body.case).toEqual({ id, verdict: 'same' })
    }
    await sweep()
    expect(await read()).toMatchObject({ held: null, definition: { etag: 'etag of Too short.' } })

    const { held: failed } = await save('Worse.')
    await playTrial(failed.trial_id, worse)
    await sweep()
    const { held: other } = await save('Mended.')
    expect(other).toMatchObject({ etag: 'etag of Mended.', problem: null })
    expect(other.trial_id).not.toBe(failed.trial_id)
  })

  test('P7: can be discarded, which cancels its trial', async () => {
    const { readTrial, hub, mira } = world
    const before = await read()
    const { held } = await save('Never mind.')
    const request = { method: 'DELETE', key: mira.key }
    const discard = (etag: string) =>
      hub.call(`/agents/scout/definition/held?etag=${encodeURIComponent(etag)}`, request)
    expect((await discard('of another change')).status).toBe(409)
    expect((await discard(held.etag)).body).toMatchObject({
      discarded: 'etag of Never mind.',
    })
    expect((await readTrial(held.trial_id)).status).toBe('cancelled')
    expect(await read()).toMatchObject({ held: null, definition: before.definition })
    expect((await discard(held.etag)).status).toBe(404)
  })

  test('P7: is kept with the reason when no trial can start, and nothing typed is lost', async () => {
    gate = { ...gate, set: 'gone' }
    const { held } = await save('For the set that is gone.')
    expect(held).toMatchObject({
      trial_id: null,
      problem: expect.stringMatching(/^scout has no set gone\. Create the set/),
    })
    await world.sweep()
    expect((await read()).held).toEqual(held)
    expect((await apply(adminKey, held.etag)).status).toBe(200)
    expect((await read()).files['system-prompt.md']).toBe('For the set that is gone.')
  })

  test('P7: takes its files along when it is discarded, unless a version has the same', async () => {
    const { playTrial, sweep, hub, mira } = world
    const discard = (prompt: string) =>
      hub.call(`/agents/scout/definition/held?etag=etag of ${prompt}`, {
        method: 'DELETE',
        key: mira.key,
      })
    const isKept = (prompt: string) =>
      hub.seen.kept.some(({ etag }) => etag === `etag of ${prompt}`)
    await save('Only tried.')
    expect(isKept('Only tried.')).toBe(true)
    expect((await discard('Only tried.')).status).toBe(200)
    expect(isKept('Only tried.')).toBe(false)
    for (const prompt of ['Be kind.', 'Be firm.']) {
      await playTrial((await save(prompt)).held.trial_id)
      await sweep()
    }
    const { definition, held } = await save('Be kind.')
    expect([definition.etag, held.etag]).toEqual(['etag of Be firm.', 'etag of Be kind.'])
    expect((await discard('Be kind.')).status).toBe(200)
    expect(isKept('Be kind.')).toBe(true)
  })

  test('P7: is not applied over a version that became active meanwhile', async () => {
    const { playTrial, sweep, office, scout } = world
    const { held } = await save('Slow.')
    await office.run(
      `INSERT INTO agent_definitions (account_id, version, etag, created_at)
       SELECT account_id, max(version) + 1, 'other', 0 FROM agent_definitions WHERE account_id = ?`,
      scout.id,
    )
    await office.run(
      'UPDATE agents SET definition_version = definition_version + 1 WHERE account_id = ?',
      scout.id,
    )
    await playTrial(held.trial_id)
    await sweep()
    const after = await read()
    expect(after.definition.etag).toBe('other')
    expect(after.held.problem).toContain('could not be applied')
  })
})
