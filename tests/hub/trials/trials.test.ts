import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { trialLimits } from '../../../src/shared/config'
import type { ActivationId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { factsOf } from '../replays/create-replays'
import { createTrials, type Play, type Trials } from './create-trials'

let world: Trials
let runs: { id: ActivationId; post: string }[]
const idsOf = (count: number) => runs.slice(0, count).map(({ id }) => id)

beforeAll(async () => {
  world = await createTrials()
  runs = await world.runMany(6)
})

beforeEach(async () => {
  const { hub, office } = world
  hub.seen.check = () => ({ ok: true, facts: factsOf() })
  hub.seen.findReplayProblem = () => null
  hub.seen.listReads = () => ({ posts: [], comments: [] })
  hub.seen.readJudge = () => null
  hub.seen.cancelledLanes.length = 0
  await office.run(`UPDATE replay_lanes SET state = 'done', reserved_microusd = 0, reserved_tokens = 0
    WHERE state IN ('queued', 'running')`)
  await office.run(
    `UPDATE trial_cases SET state = 'cancelled' WHERE state IN ('queued', 'running', 'judging')`,
  )
  await office.run('UPDATE trials SET finished_at = 1 WHERE finished_at IS NULL')
})

const judge = { model: 'near/judge', costMaxMicrousd: 50, isPriced: true, tokensMax: 500 }
const says = (said: string, reason = 'Because.') => ({
  answer: JSON.stringify({ says: said, reason }),
})

/** Answers by definition: each as a text. */
const answering =
  (baseline: string, candidate: string, judging: Play = () => says('same')): Play =>
  (lane) =>
    lane.lane === 'judge'
      ? judging(lane)
      : { answer: lane.lane === 'baseline' ? baseline : candidate }

describe('a trial', () => {
  test('P8: is promised before it starts, and starts nothing', async () => {
    const { hub, mira, office, createSet, files } = world
    const set = await createSet(idsOf(3))
    hub.seen.readJudge = () => judge
    const { status, body } = await hub.call(`/sets/${set}/trials/preview`, {
      key: mira.key,
      body: { files, repeats: 2 },
    })
    expect(status).toBe(200)
    // three cases, each twice with both definitions, and two comparisons of each pair
    expect(body.promise).toMatchObject({
      cases: 3,
      repeats: 2,
      judge: 'near/judge',
      cost_max_microusd: 3 * (4 * 1_000 + 4 * 50),
      problems: [],
    })
    expect(body.promise.paid_by.map(({ scope }: { scope: string }) => scope)).toContain('replay')
    expect(await office.all('SELECT id FROM trials WHERE set_id = ?', set)).toEqual([])
  })

  test('P6: an equal draft comes out the same, each time', async () => {
    const { createSet, startTrial, playTrial, readTrial } = world
    const set = await createSet(idsOf(3), [{ type: 'contains', value: 'wait' }])
    const play = async () => {
      const id = await startTrial(set)
      await playTrial(id)
      const { id: _, created_at, finished_at, cases, ...rest } = await readTrial(id)
      expect(finished_at).not.toBeNull()
      return {
        ...rest,
        cases: cases.map((each: Record<string, unknown>) => ({ ...each, id: 0, replay_id: 0 })),
      }
    }
    const [one, other] = [await play(), await play()]
    expect(one).toMatchObject({ status: 'done', same: 3, better: 0, worse: 0, claim: 'same' })
    expect(one.passed.candidate).toEqual({ samples: 3, of: 3, all_samples: 3, cases: 3 })
    expect(one.cost_microusd).toBe(60)
    expect(other).toEqual(one)
  })

  test('P6: checks decide first; who passes all of them alone is better', async () => {
    const { createSet, startTrial, playTrial, readTrial } = world
    const set = await createSet(idsOf(2), [{ type: 'contains', value: 'Friday' }])
    const id = await startTrial(set, { repeats: 2 })
    await playTrial(id, answering('Some day.', 'On Friday.'))
    const trial = await readTrial(id)
    expect(trial).toMatchObject({ better: 2, worse: 0, claim: 'cannot_tell', noise: 0 })
    expect(trial.cases[0]).toMatchObject({
      verdict: 'better',
      by: 'checks',
      replay_id: expect.any(String),
    })
    expect(trial.cases[0].results.candidate).toEqual([
      [{ has_passed: true, detail: '' }],
      [{ has_passed: true, detail: '' }],
    ])
    expect(trial.cases[0].baseline.answer).toBe('Some day.')
  })

  test('P6: a judge compares what checks do not decide, and must say the same in both orders', async () => {
    const { hub, createSet, startTrial, playTrial, readTrial, lanesOf } = world
    hub.seen.readJudge = () => judge
    const set = await createSet(idsOf(4))
    const id = await startTrial(set)
    const cases = (await readTrial(id)).cases.map((each: { id: string }) => each.id)
    // the draft, the place, nonsense, a lane that fails
    const judging: Play = ({ caseId, sample }) => {
      const kind = cases.indexOf(caseId)
      if (kind === 0) return says(sample === 1 ? 'second' : 'first')
      if (kind === 1) return says('first')
      if (kind === 2) return { answer: '<b>The draft is better!</b>' }
      return { outcome: 'failed', answer: '', incomplete: 'The provider failed.' }
    }
    await playTrial(id, answering('We wait.', 'We start on Friday.', judging))
    const trial = await readTrial(id)
    expect(
      trial.cases.map((each: { verdict: string; by: string }) => `${each.verdict} ${each.by}`),
    ).toEqual(['better judge', ...Array(3).fill('cannot_tell judge')])
    expect(trial.cases[0].judgements).toEqual([
      { sample: 1, first: 'baseline', says: 'second', reason: 'Because.' },
      { sample: 1, first: 'candidate', says: 'first', reason: 'Because.' },
    ])
    expect(trial.cases[3].judgements[0]).toMatchObject({
      says: 'cannot_tell',
      reason: 'The provider failed.',
    })
    expect(trial.cases[1].reason).not.toBeNull()
    // equal answers need no judge
    const other = await startTrial(set)
    await playTrial(other, answering('We wait.', 'We wait.'))
    expect((await readTrial(other)).same).toBe(4)
    expect((await lanesOf(other, ['done'])).map(({ lane }) => lane)).not.toContain('judge')
  })

  test('P6 P9: each sample goes by what the judge says of its own answers', async () => {
    const { hub, createSet, startTrial, playTrial, readTrial, lanesOf } = world
    hub.seen.readJudge = () => judge
    const id = await startTrial(await createSet(idsOf(2)), { repeats: 2 })
    const [one] = (await readTrial(id)).cases.map((each: { id: string }) => each.id)
    await playTrial(id, ({ caseId, lane, sample }) => {
      if (lane !== 'judge') {
        // both definitions answer the other case with the same words at first
        const isSame = caseId !== one && sample === 1
        return { answer: isSame || lane === 'baseline' ? 'We wait.' : 'We start.' }
      }
      const isForDraft = sample > 2
      return says((sample % 2 === 0) === isForDraft ? 'first' : 'second', `Order ${sample}.`)
    })
    const { cases } = await readTrial(id)
    expect(cases.map((each: { verdict: string }) => each.verdict)).toEqual([
      'cannot_tell',
      'better',
    ])
    expect(
      cases[1].judgements.map((each: { sample: number; reason: string }) => [
        each.sample,
        each.reason,
      ]),
    ).toEqual([
      [2, 'Order 3.'],
      [2, 'Order 4.'],
    ])
    const judging = (await lanesOf(id, ['done'])).filter(({ lane }) => lane === 'judge')
    expect(judging.filter(({ caseId }) => caseId === one)).toHaveLength(4)
  })

  test('P6: no judge compares answers of a run that used an account of its requester, and it says so', async () => {
    const { hub, office, createSet, startTrial, playTrial, readTrial, lanesOf, mira, scout } = world
    hub.seen.readJudge = () => judge
    const own = await world.runOnce()
    await office.run('UPDATE activations SET uses_own_account = 1 WHERE id = ?', own.id)
    const set = await createSet([own.id])
    const { body } = await hub.call(`/sets/${set}/trials/preview`, {
      key: mira.key,
      body: { files: world.files },
    })
    expect(body.promise.cost_max_microusd).toBe(2_000)
    const id = await startTrial(set)
    await playTrial(id, answering('We wait.', 'We start.'))
    expect((await lanesOf(id, ['done'])).map(({ lane }) => lane)).not.toContain('judge')
    const trial = await readTrial(id)
    expect(trial).toMatchObject({ waiting: 1, claim: 'cannot_tell' })
    expect(trial.cases[0].reason).toContain('account')
    expect(scout.id).not.toBe(mira.id)
  })

  test('P6: people compare blind what nobody has decided, and what they say counts', async () => {
    const { hub, createSet, startTrial, playTrial, readTrial, mira } = world
    const set = await createSet(idsOf(6), [], 'It should name the day.')
    const id = await startTrial(set)
    const busy = await hub.call(
      `/trials/${id}/cases/${(await readTrial(id)).cases[0].id}/verdict`,
      {
        key: mira.key,
        body: { says: 'same' },
      },
    )
    expect(busy.status).toBe(409)
    await playTrial(id, answering('We wait.', 'We start.'))
    expect(await readTrial(id)).toMatchObject({ waiting: 6, status: 'done' })
    const orders = new Set<string>()
    for (let left = 6; left > 0; left--) {
      const { body } = await hub.call(`/trials/${id}/blind`, { key: mira.key })
      const again = await hub.call(`/trials/${id}/blind?case=${body.case.id}`, { key: mira.key })
      expect(again.body.case).toEqual(body.case)
      expect(body.case).toMatchObject({ left, note: 'It should name the day.' })
      expect([body.case.first, body.case.second].sort()).toEqual(['We start.', 'We wait.'])
      // each person has an order of their own: with two of them all twelve are one only by rare chance
      const path = `/trials/${id}/blind?case=${body.case.id}`
      const theirs = await hub.call(path, { key: adminKey })
      orders.add(body.case.first).add(theirs.body.case.first)
      const isFirst = body.case.first === 'We start.'
      const saved = await hub.call(`/trials/${id}/cases/${body.case.id}/verdict`, {
        key: mira.key,
        body: { says: isFirst ? 'first' : 'second' },
      })
      expect(saved.body.case).toEqual({ id: body.case.id, verdict: 'better' })
    }
    expect((await hub.call(`/trials/${id}/blind`, { key: mira.key })).body.case).toBeNull()
    expect(orders.size).toBe(2)
    const trial = await readTrial(id)
    expect(trial).toMatchObject({ better: 6, waiting: 0, claim: 'better' })
    expect(trial.cases[0]).toMatchObject({
      by: 'people',
      verdicts: { checks: null, people: 'better' },
    })
  })

  test('P6: answers with the same words are the same, and nobody is asked about them', async () => {
    const { hub, mira, createSet, startTrial, playTrial, readTrial } = world
    const id = await startTrial(await createSet(idsOf(2)))
    await playTrial(id, answering('We wait.', 'We\n\nwait. '))
    const trial = await readTrial(id)
    expect(trial).toMatchObject({ same: 2, waiting: 0 })
    expect((await hub.call(`/trials/${id}/blind`, { key: mira.key })).body.case).toBeNull()
    const [{ id: caseId }] = trial.cases
    const { body } = await hub.call(`/trials/${id}/blind?case=${caseId}`, { key: mira.key })
    expect(body.case).toMatchObject({ is_same: true, left: 0 })
    const refused = await hub.call(`/trials/${id}/cases/${caseId}/verdict`, {
      key: mira.key,
      body: { says: 'first' },
    })
    expect([refused.status, refused.body.code]).toEqual([409, 'CONFLICT'])
    expect(await readTrial(id)).toMatchObject({ same: 2, better: 0, worse: 0 })
  })

  test('P6: the list of the trials of a set says what each found', async () => {
    const { hub, mira, createSet, startTrial, playTrial } = world
    const set = await createSet(idsOf(2), [{ type: 'contains_not', value: 'Sorry' }])
    const list = async () => (await hub.call(`/sets/${set}/trials`, { key: mira.key })).body.trials
    const id = await startTrial(set)
    expect(await list()).toMatchObject([{ id, better: 0, worse: 0, same: 0, waiting: 0 }])
    await playTrial(id, answering('We wait.', 'SORRY.'))
    expect(await list()).toMatchObject([{ id, status: 'done', worse: 2, same: 0, cannot_tell: 0 }])
  })

  test('P6 P9: people compare the first samples that differ', async () => {
    const { hub, mira, createSet, startTrial, playTrial } = world
    const id = await startTrial(await createSet(idsOf(1)), { repeats: 3 })
    await playTrial(id, ({ lane, sample }) => ({
      answer: sample === 1 ? 'We wait.' : `The ${lane} starts, ${sample}.`,
    }))
    const { body } = await hub.call(`/trials/${id}/blind`, { key: mira.key })
    expect([body.case.first, body.case.second].sort()).toEqual([
      'The baseline starts, 2.',
      'The candidate starts, 2.',
    ])
  })

  test('P3 P6: what the baseline does otherwise than what happened is noise, in which no draft is better', async () => {
    const { createSet, startTrial, playTrial, readTrial } = world
    // in the run itself no tool was called
    const set = await createSet(idsOf(6), [{ type: 'calls_not', value: 'hub.search' }])
    const call = (isError: boolean) => ({
      step: 1,
      tool: 'hub_search',
      arguments: '{}',
      isError,
      source: 'hub' as const,
      isRepeated: false,
      current: [],
      wouldHave: null,
    })
    const id = await startTrial(set)
    await playTrial(id, ({ lane }) =>
      lane === 'baseline' ? { calls: [call(true), call(false), call(true)] } : {},
    )
    const trial = await readTrial(id)
    expect(trial).toMatchObject({ better: 6, noise: 6, claim: 'same' })
    expect(trial.tool_errors).toEqual({ baseline: 12, candidate: 0 })
    expect(trial.cases[0].results).toMatchObject({
      observed: [[{ has_passed: true }]],
      baseline: [[{ has_passed: false }]],
    })
  })

  test('P6: a month costs what the lanes cost, times the runs of the 30 days before', async () => {
    const { office, hub, scout, runMany, createSet, startTrial, playTrial, readTrial } = world
    const [recent, earlier] = await runMany(2)
    const dayMs = 86_400_000
    const moveTo = (days: number, id = '') =>
      office.run(
        'UPDATE activations SET started_at = ? WHERE id = ?',
        hub.clock.now() - days * dayMs,
        id,
      )
    await moveTo(29, recent?.id)
    await moveTo(31, earlier?.id)
    const all = await office.all('SELECT id FROM activations WHERE agent_id = ?', scout.id)
    const id = await startTrial(await createSet(idsOf(2)))
    await playTrial(id, ({ lane }) => ({ cost: lane === 'baseline' ? 10 : 30 }))
    expect((await readTrial(id)).cost_month_microusd).toEqual({
      baseline: 10 * (all.length - 1),
      candidate: 30 * (all.length - 1),
    })
  })

  test('P6: a lane that is incomplete on one side decides nothing, and says why', async () => {
    const { createSet, startTrial, playTrial, readTrial } = world
    const id = await startTrial(await createSet(idsOf(1)))
    await playTrial(id, ({ lane }) =>
      lane === 'candidate' ? { incomplete: 'A tool was not recorded.' } : {},
    )
    const { cases } = await readTrial(id)
    expect(cases[0]).toMatchObject({ verdict: 'cannot_tell', by: 'checks' })
    expect(cases[0].reason).toContain('A tool was not recorded.')
  })

  test('P3: both definitions run as they would today, the baseline as the version that was active when it began', async () => {
    const { createSet, startTrial, lanesOf, open, office, scout, files } = world
    await office.run(
      `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at) VALUES (?, 2, 'etag2', ?, 0)`,
      scout.id,
      world.mira.id,
    )
    world.hub.seen.kept.push({ name: 'scout', etag: 'etag2', files })
    await office.run('UPDATE agents SET definition_version = 2 WHERE account_id = ?', scout.id)
    const id = await startTrial(await createSet(idsOf(1)))
    await office.run('UPDATE agents SET definition_version = 1 WHERE account_id = ?', scout.id)
    const lanes = await lanesOf(id)
    const openOf = (wanted: string) =>
      open(lanes.find(({ lane }) => lane === wanted)?.id as ActivationId)
    const [one, other] = [await openOf('baseline'), await openOf('candidate')]
    expect(one).toMatchObject({
      draft: null,
      isAsThen: false,
      observed: { definition: { version: 2, etag: 'etag2' } },
    })
    expect(other).toMatchObject({ draft: files, isAsThen: false })
  })

  test('P11: few cases run at a time, and each trial goes on by itself', async () => {
    const { createSet, startTrial, lanesOf, playLane, hub, readTrial } = world
    const id = await startTrial(await createSet(idsOf(6)))
    const lanes = await lanesOf(id)
    expect(new Set(lanes.map(({ caseId }) => caseId)).size).toBe(trialLimits.casesAtOnce)
    expect(hub.seen.wokenLanes.length).toBeGreaterThan(0)
    // more than one account may have open is no obstacle to its own cases
    const [first] = lanes
    for (const lane of lanes.filter(({ caseId }) => caseId === first?.caseId))
      await playLane(lane, () => ({}))
    expect(new Set((await lanesOf(id)).map(({ caseId }) => caseId)).size).toBe(
      trialLimits.casesAtOnce,
    )
    expect(await readTrial(id)).toMatchObject({ status: 'running', open: 5, claim: 'cannot_tell' })
  })

  test('P11: a trial of 200 cases starts with few lanes', async () => {
    const { office, createSet, startTrial, lanesOf, readTrial } = world
    const set = await createSet([])
    await office.run(
      `INSERT INTO activations (id, agent_id, task, class, admission, model, state, started_at, finished_at, deadline_at, definition_version)
       SELECT 'many-' || n.value, agent_id, task, class, admission, model, 'done', started_at, finished_at, deadline_at, definition_version
       FROM activations, (SELECT value FROM json_each(?)) n WHERE id = ?`,
      JSON.stringify(Array.from({ length: 200 }, (_, at) => at)),
      runs[0]?.id,
    )
    await office.run(`INSERT INTO activation_traces (activation_id, trace)
      SELECT id, '{"version":1,"steps":[]}' FROM activations WHERE id LIKE 'many-%'`)
    await office.run(
      `INSERT INTO cases (id, set_id, activation_id, checks, note, created_by, created_at)
       SELECT 'case-' || id, ?, id, '[]', '', ?, 0 FROM activations WHERE id LIKE 'many-%'`,
      set,
      world.mira.id,
    )
    const id = await startTrial(set, { repeats: 5 })
    expect(await lanesOf(id)).toHaveLength(trialLimits.casesAtOnce * 10)
    expect(await readTrial(id)).toMatchObject({
      open: 200,
      promise: { cases: 200, cost_max_microusd: 2_000_000 },
    })
    await world.hub.call(`/trials/${id}/cancel`, { key: world.mira.key, method: 'POST' })
  })

  test('P2: a case whose texts are gone when its turn comes is skipped', async () => {
    const { hub, createSet, startTrial, playTrial, readTrial, mira } = world
    const more = await world.runMany(5)
    const id = await startTrial(await createSet(more.map((each) => each.id)))
    const last = more.at(-1)?.post ?? ''
    expect((await hub.call(`/posts/${last}`, { key: mira.key, method: 'DELETE' })).status).toBe(200)
    await playTrial(id)
    const trial = await readTrial(id, adminKey)
    expect(trial).toMatchObject({ status: 'done', skipped: 1, same: 4 })
    expect(trial.cases[4]).toMatchObject({ state: 'skipped', replay_id: null, is_visible: false })
    expect(trial.cases[4].reason).not.toBeNull()
  })
})

describe('who may try', () => {
  test('P5: only people who may edit the agent see its trials; for others there are none', async () => {
    const { hub, ada, scout, createSet, startTrial, start, playTrial } = world
    const set = await createSet(idsOf(1))
    const id = await startTrial(set)
    await playTrial(id, answering('We wait.', 'We start.'))
    const [one] = (await world.readTrial(id)).cases
    for (const key of [ada.key, scout.key]) {
      expect((await start(set, {}, key)).status).toBe(404)
      const send = (path: string, body?: object) => hub.call(path, { key, ...(body && { body }) })
      const answers = [
        await send(`/sets/${set}/trials/preview`, { files: world.files }),
        await send(`/sets/${set}/trials`),
        await send(`/trials/${id}`),
        await send(`/trials/${id}/cancel`, {}),
        await send(`/trials/${id}/blind`),
        await send(`/trials/${id}/cases/${one.id}/verdict`, { says: 'same' }),
      ]
      expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(404))
    }
    const guessed = hub.clock.newId()
    expect((await hub.call(`/trials/${guessed}`, { key: adminKey })).status).toBe(404)
    expect((await hub.call(`/sets/${guessed}/trials`, { key: adminKey })).status).toBe(404)
    const other = await startTrial(set)
    const path = `/trials/${other}/cases/${one.id}/verdict`
    expect((await hub.call(path, { key: adminKey, body: { says: 'same' } })).status).toBe(404)
    expect(
      (await hub.call(`/trials/${other}/blind?case=${one.id}`, { key: adminKey })).status,
    ).toBe(404)
    const { body } = await hub.call(`/sets/${set}/trials`, { key: adminKey })
    expect(body.trials.map((each: { id: string }) => each.id)).toEqual([other, id])
  })

  test('P6: whoever does not see all of a run reads no word of its case', async () => {
    const { hub, office, createSet, startTrial, playTrial, readTrial, scout, ada } = world
    const id = await startTrial(
      await createSet(idsOf(1), [{ type: 'contains', value: 'Friday' }], 'A note.'),
    )
    await playTrial(id, answering('We wait.', 'We start.'))
    // another owner has not written the definition of the run
    await office.run(`UPDATE accounts SET owner_id = ?, role = role WHERE id = ?`, ada.id, scout.id)
    await office.run(`UPDATE accounts SET role = 'member' WHERE id = ?`, ada.id)
    const trial = await readTrial(id, ada.key)
    await office.run('UPDATE accounts SET owner_id = ? WHERE id = ?', world.mira.id, scout.id)
    expect(trial.cases[0]).toMatchObject({
      is_visible: false,
      question: '',
      note: '',
      checks: [],
      results: null,
    })
    expect(JSON.stringify(trial.cases)).not.toMatch(/We wait|We start|Friday|note\./)
    expect(hub.seen.logged.join('\n')).not.toContain('failed to advance')
  })

  test('P6: nor a word of the judge, or of why nothing could be decided', async () => {
    const { hub, office, mira, ada, scout, createSet, startTrial, playTrial, readTrial } = world
    hub.seen.readJudge = () => judge
    const id = await startTrial(await createSet(idsOf(2)))
    const [one] = (await readTrial(id)).cases.map((each: { id: string }) => each.id)
    await playTrial(id, ({ caseId, lane }) => {
      if (lane === 'judge') return says('cannot_tell', 'Both name the heron.')
      if (caseId === one) return { answer: `From the ${lane}.` }
      return lane === 'candidate' ? { incomplete: 'No answer on the heron is recorded.' } : {}
    })
    const own = await readTrial(id)
    expect(own.cases.map((each: { reason: string }) => each.reason)).toEqual([
      'Both name the heron.',
      'The draft could not run whole. No answer on the heron is recorded.',
    ])
    await office.run('UPDATE accounts SET owner_id = ? WHERE id = ?', ada.id, scout.id)
    const trial = await readTrial(id, ada.key)
    await office.run('UPDATE accounts SET owner_id = ? WHERE id = ?', mira.id, scout.id)
    expect(trial.cases).toMatchObject([
      { is_visible: false, reason: null, judgements: [] },
      { is_visible: false, reason: null, candidate: { incomplete: null } },
    ])
    expect(JSON.stringify(trial)).not.toMatch(/heron|From the/)
  })

  test('P8: trials that start at once are no more than an account may have open', async () => {
    const { start, createSet, office } = world
    const set = await createSet(idsOf(1))
    const count = trialLimits.perAccountMax
    const answers = await Promise.all(Array.from({ length: 2 * count }, () => start(set)))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 202)).toHaveLength(count)
    expect(statuses.filter((status) => status === 409)).toHaveLength(count)
    const refused = answers.find(({ status }) => status === 409)
    expect(refused?.body.error).toContain(`You have ${count}`)
    expect(await office.all('SELECT id FROM trials WHERE finished_at IS NULL')).toHaveLength(count)
  })

  test('P6: what cannot start is refused with the reason', async () => {
    const { hub, createSet, start, files, office, scout, startTrial } = world
    expect((await start(await createSet([]))).body.error).toContain('no case')
    const set = await createSet(idsOf(1))
    hub.seen.check = (given) =>
      given['system-prompt.md'] === files['system-prompt.md']
        ? { ok: true, facts: factsOf({ name: 'other' }) }
        : { ok: true, facts: factsOf() }
    expect((await start(set)).body.code).toBe('INVALID_DEFINITION')
    const adminFields = [{ field: 'brain.api_base', path: 'config.yaml:2:brain', value: '"x"' }]
    hub.seen.check = (given) => ({
      ok: true,
      facts: factsOf(
        given['system-prompt.md'] === files['system-prompt.md'] ? { adminFields } : {},
      ),
    })
    expect((await start(set)).body.code).toBe('INVALID_DEFINITION')
    hub.seen.check = () => ({ ok: true, facts: factsOf() })
    await office.run(`UPDATE agents SET definition_version = 7 WHERE account_id = ?`, scout.id)
    expect((await start(set)).body.error).toContain('no longer kept')
    await office.run(`UPDATE agents SET definition_version = 1 WHERE account_id = ?`, scout.id)
    for (let at = 0; at < trialLimits.perAccountMax; at++) await startTrial(set)
    expect((await start(set)).status).toBe(409)
    expect((await start(set, { repeats: 6 })).status).toBe(400)
  })
})

describe('the end of a trial', () => {
  test('P8: cancelled, it ends within one call, and what was called is charged', async () => {
    const { hub, mira, createSet, startTrial, lanesOf, open, renew, readTrial, differences } = world
    const id = await startTrial(await createSet(idsOf(6)))
    const [one] = await lanesOf(id)
    const lane = one?.id as ActivationId
    await open(lane)
    await renew(lane)
    const cancel = () => hub.call(`/trials/${id}/cancel`, { key: mira.key, method: 'POST' })
    expect((await cancel()).body.trial).toEqual({ id, status: 'cancelled' })
    expect(hub.seen.cancelledLanes).toEqual([lane])
    expect((await renew(lane)).kind).toBe('refused')
    await world.sweep()
    expect(await lanesOf(id)).toEqual([])
    const trial = await readTrial(id)
    expect(trial).toMatchObject({ status: 'cancelled', open: 0 })
    expect(trial.cases.every(({ state }: { state: string }) => state === 'cancelled')).toBe(true)
    expect((await cancel()).status).toBe(200)
    expect(await differences()).toEqual([])
    const done = await startTrial(await createSet(idsOf(1)))
    await world.playTrial(done)
    const late = await hub.call(`/trials/${done}/cancel`, { key: mira.key, method: 'POST' })
    expect(late.body.code).toBe('TOO_LATE')
  })

  test('P11: a trial of whoever is stopped ends', async () => {
    const { hub, office, mira, createSet, startTrial, lanesOf, readTrial, sweep } = world
    const id = await startTrial(await createSet(idsOf(6)))
    await office.run('UPDATE accounts SET disabled_at = 1 WHERE id = ?', mira.id)
    await sweep()
    expect(await lanesOf(id)).toEqual([])
    await office.run('UPDATE accounts SET disabled_at = NULL WHERE id = ?', mira.id)
    expect(await readTrial(id)).toMatchObject({ status: 'cancelled', open: 0 })
    expect(hub.seen.logged.join('\n')).not.toContain('failed to advance')
  })

  test('T10: the words of an account that is deleted go from trials', async () => {
    const { hub, office, createSet, startTrial, playTrial, readTrial, runOnce } = world
    const zoe = await hub.join('zoe', 'human')
    const own = await runOnce(zoe.key)
    const id = await startTrial(await createSet([own.id, ...idsOf(1)]))
    await playTrial(id)
    const gone = await hub.call('/accounts/zoe?words=remove', { key: adminKey, method: 'DELETE' })
    expect(gone.status).toBe(200)
    const { cases } = await readTrial(id)
    expect(cases.map((each: { activation_id: string }) => each.activation_id)).toEqual(idsOf(1))
    expect(await office.all('SELECT id FROM trial_cases WHERE activation_id = ?', own.id)).toEqual(
      [],
    )
  })
})
