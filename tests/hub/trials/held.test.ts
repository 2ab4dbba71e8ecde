import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { DefinitionFiles } from '../../../src/agents/contract/agents'
import type { TrialGate } from '../../../src/hub/contract/hub'
import { adminKey } from '../create-test-hub'
import { factsOf } from '../replays/create-replays'
import { createTrials, type Play, type Trials } from './create-trials'

/** A hub in which changes of scout have to pass a trial on two of its runs. */
let world: Trials
/** What the active version says that a change has to pass. */
let gate: TrialGate | null
/** What files that are saved say; absent: the same. */
let sent: TrialGate | null | undefined

const toEtag = (files: DefinitionFiles) => `etag of ${files['system-prompt.md']}`

beforeAll(async () => {
  world = await createTrials()
  const { hub, office, createSet, runMany, scout } = world
  const runs = await runMany(2)
  const id = await createSet(
    runs.map((each) => each.id),
    [{ type: 'contains', value: 'wait' }],
  )
  await office.run(`UPDATE case_sets SET name = 'tried', name_key = 'tried' WHERE id = ?`, id)
  hub.seen.check = (files) => ({
    ok: true,
    facts: factsOf({ etag: toEtag(files), trial: sent === undefined ? gate : sent }),
  })
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
  sent = undefined
  await world.office.run('DELETE FROM held_definitions')
  await world.office.run(`UPDATE replay_lanes SET state = 'done', reserved_microusd = 0, reserved_tokens = 0
    WHERE state IN ('queued', 'running')`)
  await world.office.run(
    `UPDATE trial_cases SET state = 'cancelled' WHERE state IN ('queued', 'running')`,
  )
  await world.office.run('UPDATE trials SET finished_at = 1 WHERE finished_at IS NULL')
  await putGate()
})

/** Makes the gate that of the active version. */
const putGate = () =>
  world.office.run(
    'UPDATE agents SET gate = ? WHERE account_id = ?',
    gate && JSON.stringify({ ...gate, setKey: gate.set }),
    world.scout.id,
  )

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
    const again = await discard(held.etag)
    expect([again.status, again.body.error]).toEqual([
      409,
      'The change was discarded by @mira already.',
    ])
    expect((await discard('of no change')).status).toBe(404)
  })

  test('P7: is kept with the reason when no trial can start, and nothing typed is lost', async () => {
    gate = { set: 'gone', worseMax: 0, costChangeMax: null, repeats: 1 }
    await putGate()
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

  test('P7: one of those who decide on it at once wins, and the others learn what became of it', async () => {
    const { hub, mira, office } = world
    const version = (await read()).definition.version
    const { held } = await save('Contested.')
    const discard = (key: string) =>
      hub.call(`/agents/scout/definition/held?etag=${encodeURIComponent(held.etag)}`, {
        method: 'DELETE',
        key,
      })
    const answers = await Promise.all([
      apply(adminKey, held.etag),
      discard(mira.key),
      apply(adminKey, held.etag),
      discard(adminKey),
    ])
    const won = answers.filter(({ status }) => status === 200)
    const lost = answers.filter(({ status }) => status !== 200)
    expect([won.length, lost.map(({ status }) => status)]).toEqual([1, [409, 409, 409]])
    const [row] = await office.all<{ outcome: string; version: number | null; decided: number }>(
      'SELECT outcome, version, decided_at IS NOT NULL AS decided FROM held_definitions',
    )
    const isApplied = row?.outcome === 'applied'
    expect(row).toEqual({
      outcome: isApplied ? 'applied' : 'discarded',
      version: isApplied ? version + 1 : null,
      decided: 1,
    })
    expect((await read()).definition.version).toBe(isApplied ? version + 1 : version)
    for (const { body } of lost) expect(body.error).toContain(`was ${row?.outcome}`)
  })

  test.each(['apply', 'discard'] as const)(
    'P7: a %s that comes second changes nothing and is in no log',
    async (second) => {
      const { hub, mira, office } = world
      const { held } = await save(`Decided before ${second}.`)
      const discard = () =>
        hub.call(`/agents/scout/definition/held?etag=${encodeURIComponent(held.etag)}`, {
          method: 'DELETE',
          key: mira.key,
        })
      const send = { apply: () => apply(adminKey, held.etag), discard }
      const first = second === 'apply' ? 'discard' : 'apply'
      expect((await send[first]()).status).toBe(200)
      const counts = () =>
        office.all(
          `SELECT (SELECT count(*) FROM admin_log) AS log, (SELECT count(*) FROM agent_definitions) AS versions,
             outcome, decided_by, decided_at, version FROM held_definitions`,
        )
      await hub.settle()
      const before = await counts()
      for (const name of ['apply', 'discard'] as const) {
        expect((await send[name]()).status).toBe(409)
      }
      await hub.settle()
      expect(await counts()).toEqual(before)
    },
  )

  test('P7: saved several times at once is tried once', async () => {
    const { hub, mira, files, office } = world
    const base_version = (await read()).definition.version
    const before = (await trialsOf()).length
    const put = (prompt: string) =>
      hub.call('/agents/scout/definition', {
        method: 'PUT',
        key: mira.key,
        body: { files: { ...files, 'system-prompt.md': prompt }, base_version },
      })
    const same = await Promise.all([put('At once.'), put('At once.'), put('At once.')])
    expect(same.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(same.map(({ body }) => body.held.trial_id)).size).toBe(1)
    expect((await trialsOf()).length).toBe(before + 1)
    expect(await office.all('SELECT trial_id FROM held_definitions')).toHaveLength(1)
    await office.run('DELETE FROM held_definitions')
    await hub.settle()

    const others = await Promise.all([put('Mine.'), put('Yours.')])
    expect(others.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect((await trialsOf()).length).toBe(before + 2)
    expect(await office.all('SELECT trial_id FROM held_definitions')).toHaveLength(1)
  })

  test('P7: a version that is restored through it says in the log from which it was', async () => {
    const { playTrial, sweep, hub, office, scout, mira } = world
    const { held: first } = await save('To come back to.')
    await playTrial(first.trial_id)
    await sweep()
    const { version } = (await read()).definition
    await playTrial((await save('A detour.')).held.trial_id)
    await sweep()
    const restored = await hub.call('/agents/scout/definition/restore', {
      key: mira.key,
      body: { version },
    })
    expect([restored.status, restored.body.held?.etag]).toEqual([200, 'etag of To come back to.'])
    await hub.settle()
    await playTrial(restored.body.held.trial_id)
    await sweep()
    expect((await read()).definition).toMatchObject({ version: version + 2, etag: first.etag })
    const [entry] = await office.all<{ after: string }>(
      `SELECT after FROM admin_log WHERE action = 'definition.push' AND target_id = ? ORDER BY rowid DESC LIMIT 1`,
      scout.id,
    )
    expect(JSON.parse(entry?.after ?? '{}')).toMatchObject({ restored_from: version })
  })

  test('P7: grants that wait with it are allowed in the step that applies it', async () => {
    const { hub, files } = world
    const body = {
      files: { ...files, 'system-prompt.md': 'With a grant.' },
      base_version: (await read()).definition.version,
      allow_grants: ['memory:read'],
    }
    const { body: saved } = await hub.call('/agents/scout/definition', {
      method: 'PUT',
      key: adminKey,
      body,
    })
    const readAllowed = () =>
      world.office.all<{ allowed: string }>(
        'SELECT allowed FROM grant_policies WHERE account_id = ?',
        world.scout.id,
      )
    expect(JSON.stringify(await readAllowed())).not.toContain('memory:read')
    expect((await apply(adminKey, saved.held.etag)).status).toBe(200)
    expect(JSON.stringify(await readAllowed())).toContain('memory:read')
  })
})

describe('the set that a change has to be tried on', () => {
  const other = (set: string): TrialGate => ({
    set,
    worseMax: 1,
    costChangeMax: null,
    repeats: 1,
  })
  const send = async (prompt: string, path: 'save' | 'restore') => {
    const { hub, mira, files } = world
    const base_version = (await read()).definition.version
    if (path === 'restore') {
      return hub.call('/agents/scout/definition/restore', {
        key: mira.key,
        body: { version: base_version - 1 },
      })
    }
    return hub.call('/agents/scout/definition', {
      method: 'PUT',
      key: mira.key,
      body: { files: { ...files, 'system-prompt.md': prompt }, base_version },
    })
  }

  test.each<[string, TrialGate | null, TrialGate | null, 'save' | 'restore', number]>([
    ['a first one that is there', null, other('tried'), 'save', 200],
    ['a first one that is not there', null, other('nowhere'), 'save', 422],
    ['another one that is not there', other('tried'), other('nowhere'), 'save', 422],
    ['another one that is there', other('nowhere'), other('tried'), 'save', 200],
    ['the same one, which is not there', other('nowhere'), other('nowhere'), 'save', 200],
    ['none any more', other('tried'), null, 'save', 200],
    ['none any more of one that is not there', other('nowhere'), null, 'save', 200],
    ['an earlier version with one that is not there', null, other('nowhere'), 'restore', 200],
  ])('P7: %s', async (name, before, after, path, status) => {
    gate = before
    await putGate()
    sent = after
    const answer = await send(`With ${name}.`, path)
    expect([answer.status, answer.body.details]).toEqual([
      status,
      status === 200
        ? undefined
        : [
            {
              path: 'config.yaml:9:trial.set',
              message: expect.stringMatching(/^The agent has no set nowhere\. Create it/),
            },
          ],
    ])
    await world.hub.settle()
  })

  test('P7: an agent that is created can name one that it does not have yet', async () => {
    const { hub, mira, files } = world
    const name = 'newling'
    hub.seen.check = () => ({
      ok: true,
      facts: factsOf({ name, etag: 'new', trial: other('nowhere') }),
    })
    const { status } = await hub.call(`/agents/${name}/definition`, {
      method: 'PUT',
      key: mira.key,
      body: { files, base_version: 0 },
    })
    expect(status).toBe(200)
  })

  test('P7: is neither deleted nor renamed while changes have to pass it', async () => {
    const { hub, mira, office } = world
    const [set] = await office.all<{ id: string }>(`SELECT id FROM case_sets WHERE name = 'tried'`)
    const remove = () => hub.call(`/sets/${set?.id}`, { method: 'DELETE', key: mira.key })
    await office.run('UPDATE trials SET finished_at = 0 WHERE finished_at IS NULL')
    const refused = await remove()
    expect([refused.status, refused.body.error, refused.body.hint]).toEqual([
      409,
      'Changes of @scout have to pass a trial on the set tried.',
      'Take trial out of the config.yaml of scout, or name another set there. Then try again.',
    ])
    const rename = async (name: string) =>
      (await hub.call(`/sets/${set?.id}`, { method: 'PATCH', key: mira.key, body: { name } }))
        .status
    expect(await rename('others')).toBe(409)
    expect(await rename('Tried')).toBe(200)
    const isGate = async () =>
      (await hub.call(`/sets/${set?.id}`, { key: mira.key })).body.set?.is_gate
    expect(await isGate()).toBe(true)
    gate = null
    await putGate()
    expect(await isGate()).toBe(false)
    expect(await rename('others')).toBe(200)
    expect((await remove()).status).toBe(200)
  })
})
