import { beforeAll, describe, expect, test } from 'vitest'
import { trialLimits } from '../../../src/shared/config'
import type { CommentId } from '../../../src/shared/ids'
import { type Answer, adminKey } from '../create-test-hub'
import { createReplays, type Replays } from '../replays/create-replays'

let world: Replays
let run: { id: string; post: string }
let bee: { id: string; key: string }

beforeAll(async () => {
  world = await createReplays()
  const { hub, office, scout } = world
  run = await runOnce()
  bee = await office.createAgent('bee')
  await office.run('UPDATE accounts SET owner_id = ? WHERE id = ?', world.mira.id, bee.id)
  expect(scout.id).not.toBe(bee.id)
  expect(hub.clock.now()).toBeGreaterThan(0)
})

/** A run of scout that mira, or another person, asked for and that answered in the thread. */
async function runOnce(key = world.mira.key) {
  const { office, scout } = world
  const post = await office.post(key, '@scout what did we decide?')
  const { activationId: id } = await office.start(scout.id)
  const reply = { id: office.newId<CommentId>(), postId: post, parentId: null, requesters: [] }
  await office.commit(scout.id, id, { reply: { ...reply, content: 'We decided to wait.' } })
  return { id, post }
}

const call = (path: string, body?: object, method?: string, key = world.mira.key) =>
  world.hub.call(path, { key, ...(body && { body }), ...(method && { method }) })

let names = 0
const newSet = async (agent = 'scout', key = world.mira.key): Promise<string> => {
  const { status, body } = await call(
    `/agents/${agent}/sets`,
    { name: `Set ${++names}` },
    'POST',
    key,
  )
  expect(status).toBe(201)
  return body.set.id
}

const addRun = (setId: string, activationId: string, more: object = {}, key = world.mira.key) =>
  call(`/sets/${setId}/cases`, { activation_id: activationId, ...more }, 'POST', key)

/** A row of a run of an agent that has ended, or not. */
let rows = 0
const rowOf = async (agentId: string, state = 'done', program: string | null = null) => {
  const id = `row-${++rows}`
  await world.office.run(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version,
       started_at, deadline_at, requesters, program)
     VALUES (?, ?, 'inbox', 'mention', ?, 'granted', 'test/model', 1, 1, 2, '[]', ?)`,
    id,
    agentId,
    state,
    program,
  )
  return id
}

/** Of an agent one run is open at most. */
const endAll = () => world.office.run(`UPDATE activations SET state = 'done'`)

const checks = [
  { type: 'contains', value: 'wait' },
  { type: 'contains_not', value: 'Sorry' },
  { type: 'words_max', value: 120 },
  { type: 'matches', value: 'we * decided' },
  { type: 'calls_not', value: 'hub_post' },
  { type: 'steps_max', value: 3 },
  { type: 'cost_max', value: 1_000 },
  { type: 'refuses', value: false },
]

describe('a set', () => {
  test('P5: has runs of its agent with checks and a note, which can be changed', async () => {
    const set = await newSet()
    const added = await addRun(set, run.id, { checks, note: 'Name the day.' })
    expect(added.status).toBe(201)
    expect(added.body.case).toMatchObject({
      activation_id: run.id,
      is_visible: true,
      question: '@scout what did we decide?',
      checks,
      note: 'Name the day.',
    })
    expect(added.body.case.answer).toBe('We decided to wait.')
    const { id } = added.body.case
    const edited = await call(`/cases/${id}`, { note: 'Name it.' }, 'PATCH')
    expect(edited.body.case).toMatchObject({ checks, note: 'Name it.' })
    await call(`/cases/${id}`, { checks: [] }, 'PATCH')
    const { body } = await call(`/sets/${set}`)
    expect(body.set).toMatchObject({ agent: { name: 'scout' }, case_count: 1 })
    expect(body.cases).toMatchObject([{ id, checks: [], note: 'Name it.' }])
    expect((await call(`/sets/${set}/cases`)).body.cases).toEqual(body.cases)
    expect((await call('/agents/scout/sets')).body.sets).toContainEqual(body.set)
    expect((await call(`/cases/${id}`, undefined, 'DELETE')).body.deleted).toBe(id)
    expect((await call(`/sets/${set}`)).body.cases).toEqual([])
    expect((await call(`/sets/${set}`, undefined, 'DELETE')).status).toBe(200)
    expect((await call(`/sets/${set}`)).status).toBe(404)
  })

  test('P5: keeps a run that is added twice, as it was', async () => {
    const set = await newSet()
    const first = await addRun(set, run.id, { note: 'First' })
    const second = await addRun(set, run.id, { note: 'Second' })
    expect(second.body.case).toEqual(first.body.case)
    expect((await call(`/sets/${set}`)).body.cases).toHaveLength(1)
  })

  test.each<[string, () => Promise<string>, number, string]>([
    ['that does not exist', async () => 'nothing', 404, 'NOT_FOUND'],
    ['of another agent', () => rowOf(bee.id), 409, 'CONFLICT'],
    ['that has not ended', () => rowOf(world.scout.id, 'running'), 409, 'CONFLICT'],
    ['of a coding agent', () => rowOf(world.scout.id, 'done', 'claude'), 409, 'CONFLICT'],
  ])('P5: refuses a run %s', async (_, create, status, code) => {
    const set = await newSet()
    // The run of the agent has its author's definition.
    await world.office.run(
      `INSERT OR IGNORE INTO agent_definitions (account_id, version, etag, created_by, created_at) VALUES (?, 1, 'e', ?, 0)`,
      bee.id,
      world.mira.id,
    )
    const { status: given, body } = await addRun(set, await create())
    expect([given, body.code]).toEqual([status, code])
    await endAll()
    expect((await call(`/sets/${set}`)).body.cases).toEqual([])
    await call(`/sets/${set}`, undefined, 'DELETE')
  })

  test.each([
    [{ checks: [{ type: 'matches', value: '(' }] }],
    [{ checks: [{ type: 'matches', value: 'a|b' }] }],
    [{ checks: [{ type: 'contains', value: '' }] }],
    [{ checks: [{ type: 'unknown', value: 'x' }] }],
    [{ checks: [{ type: 'steps_max', value: 'x' }] }],
    [{ checks: [{ type: 'words_max', value: 1.5 }] }],
    [{ checks: [{ type: 'contains_not', value: ' ' }] }],
    [{ checks: [{ type: 'contains', value: 'x', other: 1 }] }],
    [{ checks: Array(trialLimits.checksPerCase + 1).fill({ type: 'contains', value: 'x' }) }],
    [{ note: 'x'.repeat(trialLimits.noteCharsMax + 1) }],
    [{ surplus: 1 }],
  ])('P5: refuses the case %#', async (more) => {
    const set = await newSet()
    expect((await addRun(set, run.id, more)).status).toBe(400)
    await call(`/sets/${set}`, undefined, 'DELETE')
  })

  test('P5: cites the id that a link leads to', async () => {
    const set = await newSet()
    const value = `https://hub.test/p/x?comment=abc-1#c-abc-1`
    const { body } = await addRun(set, run.id, { checks: [{ type: 'cites', value }] })
    expect(body.case.checks).toEqual([{ type: 'cites', value: 'abc-1' }])
  })

  test('P5: has a name that no other set of the agent has, and an agent has so many', async () => {
    const { body } = await call('/agents/bee/sets', { name: 'Once' })
    expect(body.set.name).toBe('Once')
    for (const name of ['Once', 'ONCE', ' once ']) {
      expect((await call('/agents/bee/sets', { name })).body.code).toBe('CONFLICT')
    }
    expect((await call('/agents/scout/sets', { name: 'Straße  7' })).status).toBe(201)
    expect((await call('/agents/scout/sets', { name: 'STRASSE 7' })).status).toBe(409)
    for (let count = 1; count < trialLimits.setsPerAgent; count++) await newSet('bee')
    const refused = await call('/agents/bee/sets', { name: 'One too many' })
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
  })

  test('P5: is renamed, to a name that no other set of the agent has', async () => {
    const [one, other] = [await newSet(), await newSet()]
    const rename = (id: string, name: string) => call(`/sets/${id}`, { name }, 'PATCH')
    expect((await rename(one, 'Regression')).body.set).toMatchObject({
      id: one,
      name: 'Regression',
    })
    expect((await rename(other, 'regression')).body.code).toBe('CONFLICT')
    expect((await call(`/sets/${other}`)).body.set.name).not.toBe('regression')
    expect((await rename(one, 'REGRESSION')).status).toBe(200)
    expect((await call(`/sets/${one}`)).body.set.name).toBe('REGRESSION')
    expect((await rename(one, ' ')).status).toBe(400)
  })

  test('P5: takes no case beyond the most that it can have', async () => {
    const set = await newSet()
    const ids = await Promise.all(
      Array.from({ length: trialLimits.casesPerSet }, () => rowOf(world.scout.id)),
    )
    const lines = ids.map((id) => JSON.stringify({ activation_id: id })).join('\n')
    expect((await importInto(set, lines)).body).toMatchObject({ added: ids.length, refused: 0 })
    const refused = await addRun(set, run.id)
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
    expect((await addRun(set, ids[0] ?? '')).status).toBe(201)
  })

  test('P5: is not deleted while a trial of it runs, and takes trials along that have finished', async () => {
    const { office, mira, scout, replay, lanesOf, hub } = world
    const set = await newSet()
    const { body } = await replay(run.id)
    const replayId = body.replay.id as string
    await office.run(
      `INSERT INTO trials (id, set_id, agent_id, requested_by, draft, baseline_version, repeats, limits,
         cost_max_microusd, runs_month, created_at) VALUES ('trial', ?, ?, ?, '{}', 1, 1, '{}', 1, 0, 1)`,
      set,
      scout.id,
      mira.id,
    )
    await office.run(
      `INSERT INTO trial_cases (id, trial_id, activation_id, position, checks, replay_id, state)
       VALUES ('trial-case', 'trial', ?, 1, '[]', ?, 'running')`,
      run.id,
      replayId,
    )
    expect((await call(`/sets/${set}`, undefined, 'DELETE')).body.code).toBe('CONFLICT')
    await office.run(`UPDATE trials SET finished_at = 2 WHERE id = 'trial'`)
    const lanes = await lanesOf(replayId)
    expect((await call(`/sets/${set}`, undefined, 'DELETE')).status).toBe(200)
    for (const table of ['trials', 'trial_cases']) {
      expect(await office.all(`SELECT id FROM ${table}`)).toEqual([])
    }
    expect(await office.all('SELECT id FROM replays WHERE id = ?', replayId)).toEqual([])
    expect(hub.seen.deletedLanes).toEqual(expect.arrayContaining(lanes.map(({ id }) => id)))
  })
})

const importInto = (set: string, lines: string, key = world.mira.key): Promise<Answer> =>
  world.hub.call(`/sets/${set}/import`, {
    key,
    body: lines,
    headers: { 'content-type': 'application/x-ndjson' },
  })

const exportOf = (set: string, key = world.mira.key) =>
  world.hub.fetch(`/api/v1/sets/${set}/export`, { headers: { authorization: `Bearer ${key}` } })

describe('an import', () => {
  test('P5: takes what an export gives, and changes nothing when it is sent again', async () => {
    const [from, to] = [await newSet(), await newSet()]
    const other = await runOnce()
    await addRun(from, run.id, { checks, note: 'שלום\n"quoted" 🐦' })
    await addRun(from, other.id)
    const exported = await exportOf(from)
    expect(exported.headers.get('content-type')).toContain('ndjson')
    const lines = await exported.text()
    expect(lines.trimEnd().split('\n')).toHaveLength(2)
    const first = await importInto(to, lines)
    expect(first.body).toMatchObject({ added: 2, kept: 0, refused: 0 })
    const withoutIds = async (set: string) =>
      (await call(`/sets/${set}`)).body.cases
        .map(({ id: _, created_at: __, ...rest }: Record<string, unknown>) => rest)
        .sort((one: { activation_id: string }, two: { activation_id: string }) =>
          one.activation_id.localeCompare(two.activation_id),
        )
    expect(await withoutIds(to)).toEqual(await withoutIds(from))
    const before = (await call(`/sets/${to}`)).body
    expect((await importInto(to, lines)).body).toMatchObject({ added: 0, kept: 2, refused: 0 })
    expect((await call(`/sets/${to}`)).body).toEqual(before)
  })

  test('P5: says of each line what came of it, and stores nothing of a bad one', async () => {
    const set = await newSet()
    const line = (activation_id: string, more: object = {}) =>
      JSON.stringify({ activation_id, ...more })
    const tooMany = Array(trialLimits.checksPerCase + 1).fill({ type: 'contains', value: 'x' })
    const { status, body } = await importInto(
      set,
      [
        '\ufeff{broken',
        '',
        line('nothing'),
        line(await rowOf(bee.id)),
        line(await rowOf(world.scout.id, 'running')),
        line(run.id, { checks: tooMany }),
        line(run.id, { nots: 'x' }),
        line(run.id, { note: `ghp_${'a1B2'.repeat(9)}` }),
        line(run.id, { checks: [{ type: 'contains', value: `ghp_${'a1B2'.repeat(9)}` }] }),
        '[]',
        'null',
        line(run.id, { note: 'The one' }),
        line(run.id, { note: 'Another' }),
        '',
      ].join('\r\n'),
    )
    await endAll()
    expect(status).toBe(200)
    expect(body).toMatchObject({ added: 1, kept: 1, refused: 10 })
    const results = body.lines.map((each: { line: number; result: string }) => [
      each.line,
      each.result,
    ])
    expect(results).toEqual([
      ...[1, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((number) => [number, 'refused']),
      [12, 'added'],
      [13, 'kept'],
    ])
    for (const { result, message } of body.lines) expect(message === '').toBe(result !== 'refused')
    expect((await call(`/sets/${set}`)).body.cases).toMatchObject([
      { activation_id: run.id, note: 'The one' },
    ])
  })

  test('P5: of 10,000 lines adds what is there', async () => {
    const set = await newSet()
    const lines = Array.from({ length: 10_000 }, (_, at) =>
      JSON.stringify({ activation_id: at === 1 ? run.id : `none-${at}` }),
    )
    const { status, body } = await importInto(set, lines.join('\n'))
    expect([status, body.added, body.refused]).toEqual([200, 1, 9_999])
  })

  test('P5: has at most as many bytes', async () => {
    const set = await newSet()
    const { body } = await importInto(set, ' '.repeat(trialLimits.importBytesMax + 1))
    expect(body.code).toBe('TOO_LARGE')
    expect((await importInto(set, '')).body).toMatchObject({ added: 0, lines: [] })
  })
})

test('P5: sets are for people who may edit the agent; nobody else learns of one', async () => {
  const { hub, ada, mira, scout, office } = world
  const guest = await hub.join('guest', 'human')
  await office.run(`UPDATE accounts SET role = 'guest' WHERE id = ?`, guest.id)
  const set = await newSet()
  const { body } = await addRun(set, run.id)
  const id = body.case.id as string
  const requests: [string, (object | undefined)?, string?][] = [
    [`/sets/${set}`],
    [`/sets/${set}/cases`],
    [`/sets/${set}/export`],
    [`/sets/${set}/cases`, { activation_id: run.id }],
    [`/sets/${set}/import`, {}],
    [`/sets/${set}`, { name: 'Theirs' }, 'PATCH'],
    [`/cases/${id}`, { note: 'x' }, 'PATCH'],
    [`/cases/${id}`, undefined, 'DELETE'],
    [`/sets/${set}`, undefined, 'DELETE'],
  ]
  for (const { key } of [ada, guest, scout]) {
    expect((await call('/agents/scout/sets', undefined, 'GET', key)).status).toBe(403)
    expect((await call('/agents/scout/sets', { name: 'Mine' }, 'POST', key)).status).toBe(403)
    for (const [path, sent, method] of requests) {
      expect([path, (await call(path, sent, method, key)).status]).toEqual([path, 404])
    }
  }
  expect((await call('/agents/nobody/sets')).status).toBe(404)
  for (const key of [mira.key, adminKey]) {
    expect((await call(`/sets/${set}`, undefined, 'GET', key)).body.cases).toHaveLength(1)
  }
})

test('P5: an editor who does not see all of a run sees nothing of its case', async () => {
  const { office, scout, mira } = world
  const hidden = await rowOf(scout.id)
  const set = await newSet()
  const { body } = await addRun(set, hidden, { note: 'Secret', checks }, mira.key)
  await office.run(`UPDATE activations SET uses_own_account = 1 WHERE id = ?`, hidden)
  const [seen] = (await call(`/sets/${set}`)).body.cases
  expect(seen).toMatchObject({
    id: body.case.id,
    is_visible: false,
    question: '',
    answer: '',
    note: '',
    checks: [],
  })
  expect(await (await exportOf(set)).text()).toBe('')
  expect((await call(`/cases/${body.case.id}`, { note: 'x' }, 'PATCH')).status).toBe(403)
  expect((await call(`/cases/${body.case.id}`, undefined, 'DELETE')).status).toBe(200)
})

test('T10: a case goes with what its run was asked', async () => {
  const { hub } = world
  const other = await runOnce()
  const set = await newSet()
  const { body } = await addRun(set, other.id, { note: 'About it' })
  expect(
    (await hub.call(`/posts/${other.post}`, { key: world.mira.key, method: 'DELETE' })).status,
  ).toBe(200)
  for (const key of [world.mira.key, adminKey]) {
    const seen = await call(`/sets/${set}`, undefined, 'GET', key)
    expect(seen.body).toMatchObject({ set: { case_count: 0 }, cases: [] })
    expect((await call(`/cases/${body.case.id}`, { note: 'x' }, 'PATCH', key)).status).toBe(404)
    expect(await (await exportOf(set, key)).text()).toBe('')
  }
  expect((await addRun(set, other.id, {}, adminKey)).body.code).toBe('CONFLICT')
})

const remove = (name: string, words: 'keep' | 'remove') =>
  call(`/accounts/${name}?words=${words}`, undefined, 'DELETE', adminKey)

describe('the deletion of an account', () => {
  const createFor = async (name: string, agent: string) => {
    const { hub, office } = world
    const person = await hub.join(name, 'human')
    await office.run(`UPDATE accounts SET role = 'admin' WHERE id = ?`, person.id)
    const row = await rowOf(world.scout.id)
    const set = await newSet('scout', person.key)
    const others = await newSet()
    const own = await addRun(others, row, { note: 'Of the account' }, person.key)
    await office.run(`UPDATE accounts SET role = 'member' WHERE id = ?`, person.id)
    expect([own.status, agent]).toEqual([201, 'scout'])
    return { set, others }
  }

  test('T10: takes its cases and sets along with its words, and keeps them otherwise', async () => {
    const stays = await createFor('olga', 'scout')
    expect((await remove('olga', 'keep')).status).toBe(200)
    expect((await call(`/sets/${stays.set}`)).status).toBe(200)
    expect((await call(`/sets/${stays.others}`)).body.cases).toHaveLength(1)
    const goes = await createFor('otto', 'scout')
    expect((await remove('otto', 'remove')).status).toBe(200)
    expect((await call(`/sets/${goes.set}`)).status).toBe(404)
    expect((await call(`/sets/${goes.others}`)).body.cases).toEqual([])
  })

  test('T10: takes cases of runs along that can have read its words', async () => {
    const { hub, mira } = world
    const visitor = await hub.join('visitor', 'human')
    const asked = await runOnce(visitor.key)
    const set = await newSet()
    expect((await addRun(set, asked.id, {}, mira.key)).status).toBe(201)
    expect((await remove('visitor', 'remove')).status).toBe(200)
    expect(
      await world.office.all('SELECT id FROM cases WHERE activation_id = ?', asked.id),
    ).toEqual([])
  })

  test('T10: takes the sets of an agent along', async () => {
    const { office, scout } = world
    const before = await office.all('SELECT id FROM case_sets WHERE agent_id = ?', scout.id)
    expect(before).not.toEqual([])
    expect((await remove('scout', 'keep')).status).toBe(200)
    expect(await office.all('SELECT id FROM case_sets WHERE agent_id = ?', scout.id)).toEqual([])
  })
})
