import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { isGranted } from '../../../src/mcp-servers/gateway/decide'
import type { ActivationId, PostId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { usageOf } from '../runs/create-office'
import { createReplays, factsOf, type Replays } from './create-replays'

let world: Replays
let run: { id: ActivationId; post: string }

beforeAll(async () => {
  world = await createReplays()
  run = await world.runOnce()
})

beforeEach(async () => {
  const { hub, office } = world
  hub.seen.check = () => ({ ok: true, facts: factsOf() })
  hub.seen.findReplayProblem = () => null
  hub.seen.findParting = () => null
  hub.seen.listReads = () => ({ posts: [], comments: [] })
  hub.seen.wokenLanes.length = 0
  hub.seen.cancelledLanes.length = 0
  await office.run(
    `UPDATE replay_lanes SET state = 'done', reserved_microusd = 0, reserved_tokens = 0`,
  )
})

const start = async (body: object = {}, key = world.mira.key) => {
  // so that none is as new as another
  world.hub.clock.advance(1)
  const { status, body: answer } = await world.replay(run.id, body, key)
  expect(status).toBe(202)
  return answer.replay.id as string
}

const [baseline, candidate] = [0, 1]

describe('a replay', () => {
  test('P8: is promised before it starts, and starts nothing', async () => {
    const { hub, mira, office } = world
    const { status, body } = await hub.call(`/activations/${run.id}/replays/preview`, {
      key: mira.key,
      body: { repeats: 2 },
    })
    expect(status).toBe(200)
    // the worst case of a run and of one call more, three times
    expect(body.promise).toMatchObject({ lanes: 3, cost_max_microusd: 3_000, tokens_max: 3_000 })
    expect(body.promise.problems).toEqual([])
    const scopes = body.promise.paid_by.map(({ scope }: { scope: string }) => scope)
    expect(scopes).toContain('replay')
    expect(scopes).toContain('hub')
    expect(await office.all('SELECT id FROM replays')).toEqual([])
  })

  test('P3: runs the baseline and the repeats of a draft, and shows them beside what happened', async () => {
    const { files, hub, read, lanesOf, open, renew, finish } = world
    hub.seen.findParting = (one, other) =>
      one === other ? null : { step: 1, reason: 'choice', detail: 'It chose otherwise.' }
    const id = await start({ files, repeats: 2 })
    const lanes = await lanesOf(id)
    expect(lanes.map(({ lane, state }) => `${lane} ${state}`)).toEqual([
      'baseline queued',
      'candidate queued',
      'candidate queued',
    ])
    expect([...hub.seen.wokenLanes].sort()).toEqual(lanes.map((each) => each.id).sort())
    const order = await open(lanes[candidate]?.id as ActivationId)
    expect(order).toMatchObject({ lane: 'candidate', sample: 1, draft: files })
    expect(order?.observed.activationId).toBe(run.id)
    expect(order?.policy.requested).toEqual(['hub:read'])
    expect(await open(lanes[baseline]?.id as ActivationId)).toMatchObject({ draft: null })
    for (const { id: lane, lane: kind } of lanes) {
      await open(lane)
      expect((await renew(lane)).kind).toBe('renewed')
      const calls = [
        {
          step: 1,
          tool: 'hub_search',
          arguments: '{}',
          isError: false,
          source: 'record',
          isRepeated: false,
          current: [],
          wouldHave: null,
        },
      ] as const
      await finish(lane, [usageOf(30, 3)], { record: `{"lane":"${kind}"}`, calls: [...calls] })
    }
    const { body } = await read(id)
    expect(body.replay).toMatchObject({ id, status: 'done', is_complete: true, cost_microusd: 90 })
    expect(body.replay.lanes.map(({ lane }: { lane: string }) => lane)).toEqual([
      'observed',
      'baseline',
      'candidate',
      'candidate',
    ])
    expect(body.replay.lanes[1]).toMatchObject({
      outcome: 'completed',
      cost_microusd: 30,
      tokens: 3,
    })
    expect(body.replay.lanes[1].calls[0]).toMatchObject({ tool: 'hub_search', source: 'record' })
    expect(body.replay.parts_at).toEqual({
      step: 1,
      reason: 'choice',
      detail: 'It chose otherwise.',
    })
  })

  test('P1: is no run: no list has it, and its agent is free', async () => {
    const { hub, lanesOf, open, office, scout } = world
    const before = (await hub.call('/activations', { key: adminKey })).body.activations.length
    const [lane] = await lanesOf(await start())
    await open(lane?.id as ActivationId)
    expect((await hub.call('/activations', { key: adminKey })).body.activations).toHaveLength(
      before,
    )
    expect((await hub.call(`/activations/${lane?.id}`, { key: adminKey })).status).toBe(404)
    await office.post(world.mira.key, '@scout and now?')
    const started = await office.start(scout.id)
    await office.commit(scout.id, started.activationId)
  })

  test('P11: at most four lanes run, and none while a task waits for capacity', async () => {
    const { hub, office, lanesOf, open, finish } = world
    const id = await start({ repeats: 5 })
    const lanes = await lanesOf(id)
    expect(hub.seen.wokenLanes).toHaveLength(4)
    const orders = await Promise.all(lanes.map((each) => open(each.id)))
    expect(orders.filter(Boolean)).toHaveLength(4)
    await office.post(world.mira.key, '@scout are you there?')
    hub.seen.wokenLanes.length = 0
    const last = lanes.filter((_, at) => orders[at] === null).map((each) => each.id)
    expect(await finish(lanes[baseline]?.id as ActivationId)).toEqual({ next: [] })
    await world.hubApi.sweep(hub.clock.now())
    expect(hub.seen.wokenLanes.filter((each) => last.includes(each))).toEqual([])
    const { activationId } = await office.start(world.scout.id)
    await office.commit(world.scout.id, activationId)
    await world.hubApi.sweep(hub.clock.now())
    expect(hub.seen.wokenLanes.filter((each) => last.includes(each)).length).toBeGreaterThan(0)
  })

  test('P8: a cancelled one ends: queued lanes at once, running ones with their next renewal', async () => {
    const { hub, mira, lanesOf, open, renew, read, budgetOf } = world
    const before = (await budgetOf('replay')).spent_microusd
    const id = await start()
    const [one] = await lanesOf(id)
    await open(one?.id as ActivationId)
    await renew(one?.id as ActivationId)
    const { body } = await hub.call(`/replays/${id}/cancel`, { key: mira.key, method: 'POST' })
    expect(body.replay.status).toBe('cancelled')
    expect(hub.seen.cancelledLanes).toEqual([one?.id])
    expect(await open((await lanesOf(id))[candidate]?.id as ActivationId)).toBeNull()
    const answer = await renew(one?.id as ActivationId, [usageOf(40, 4)])
    expect(answer).toEqual({ kind: 'refused', reason: 'lost' })
    expect((await lanesOf(id)).map(({ state, reserved }) => [state, reserved])).toEqual([
      ['cancelled', 0],
      ['cancelled', 0],
    ])
    expect((await budgetOf('replay')).spent_microusd).toBe(before + 40)
    expect((await read(id)).body.replay).toMatchObject({ status: 'cancelled', is_complete: false })
    const again = await hub.call(`/replays/${id}/cancel`, { key: mira.key, method: 'POST' })
    expect(again.status).toBe(200)
  })

  test('P11: a lane that never reports its end is charged what it had reserved', async () => {
    const { hub, lanesOf, open, renew, hubApi, differences, finish } = world
    const id = await start()
    const [one] = await lanesOf(id)
    const lane = one?.id as ActivationId
    await open(lane)
    await renew(lane)
    hub.clock.advance(60_000 + 30_000 + 600_001)
    await hubApi.sweep(hub.clock.now())
    expect((await lanesOf(id))[baseline]).toMatchObject({ state: 'failed', reserved: 0, cost: 100 })
    await finish(lane, [usageOf(70, 7)])
    expect((await lanesOf(id))[baseline]).toMatchObject({ state: 'failed', cost: 100 })
    expect(await differences()).toEqual([])
  })

  test('P11: the same key starts one replay', async () => {
    const { hub, mira, office } = world
    const send = () =>
      hub.call(`/activations/${run.id}/replays`, {
        key: mira.key,
        body: {},
        headers: { 'idempotency-key': 'once' },
      })
    const [one, other] = [await send(), await send()]
    expect(other.body.replay.id).toBe(one.body.replay.id)
    const rows = await office.all('SELECT id FROM replays WHERE id = ?', one.body.replay.id)
    expect(rows).toHaveLength(1)
  })
})

describe('who may replay', () => {
  test('P1: only people who see the prompts of a run see its replays; for others there are none', async () => {
    const { hub, ada, scout, read, replay } = world
    const id = await start()
    expect((await read(id, ada.key)).status).toBe(404)
    expect((await read(id, scout.key)).status).toBe(404)
    expect((await read(id, adminKey)).status).toBe(200)
    expect((await read(hub.clock.newId(), adminKey)).status).toBe(404)
    const cancelled = await hub.call(`/replays/${id}/cancel`, { key: ada.key, method: 'POST' })
    expect(cancelled.status).toBe(404)
    expect((await replay(run.id, {}, ada.key)).status).toBe(403)
    expect((await replay(run.id, {}, scout.key)).status).toBe(403)
    expect((await replay(hub.clock.newId(), {}, adminKey)).status).toBe(404)
    expect((await hub.call(`/activations/${run.id}/replays`, { key: ada.key })).status).toBe(403)
    const { body } = await hub.call(`/activations/${run.id}/replays`, { key: adminKey })
    expect(body.replays[0].id).toBe(id)
  })

  test('P1: a draft is checked, and sets no field of admins', async () => {
    const { hub, files, replay } = world
    const changed = { ...files, 'system-prompt.md': 'Another.' }
    hub.seen.check = (given) =>
      given['system-prompt.md'] === 'Another.'
        ? { ok: false, problems: [{ path: 'config.yaml:1:brain', message: 'Unknown' }] }
        : { ok: true, facts: factsOf() }
    const invalid = await replay(run.id, { files: changed })
    expect(invalid.body.code).toBe('INVALID_DEFINITION')
    const adminFields = [{ field: 'brain.api_base', path: 'config.yaml:2:brain', value: '"x"' }]
    hub.seen.check = (given) => ({
      ok: true,
      facts: factsOf(given['system-prompt.md'] === 'Another.' ? { adminFields } : {}),
    })
    expect((await replay(run.id, { files: changed })).body.code).toBe('INVALID_DEFINITION')
    expect((await replay(run.id, { files: changed }, adminKey)).status).toBe(202)
  })

  test('P2: a run is not replayed once a text that its tools read is gone, or not readable for both', async () => {
    const { hub, mira, ada, replay } = world
    const write = async (key: string, community: string) => {
      const body = { community, title: 'Read by a tool', content: 'Herons.' }
      const { body: answer } = await hub.call('/posts', { key, body })
      return answer.post.id as PostId
    }
    const post = await write(mira.key, 'general')
    const { body } = await hub.call(`/posts/${post}/comments`, {
      key: ada.key,
      body: { content: 'In March.' },
    })
    const comment = body.comment.id as string
    await hub.call('/communities', {
      key: ada.key,
      body: { name: 'cellar', visibility: 'private' },
    })
    const secret = await write(ada.key, 'cellar')
    const problemsOf = async (reads: { posts: string[]; comments: string[] }) => {
      hub.seen.listReads = () => reads
      const { body: preview } = await hub.call(`/activations/${run.id}/replays/preview`, {
        key: mira.key,
        body: {},
      })
      return preview.promise.problems.map(({ path }: { path: string }) => path)
    }
    expect(await problemsOf({ posts: [post], comments: [comment] })).toEqual([])
    expect(await problemsOf({ posts: [post, secret], comments: [] })).toEqual(['activation'])
    await hub.call(`/comments/${comment}`, { key: ada.key, method: 'DELETE' })
    expect(await problemsOf({ posts: [post], comments: [] })).toEqual([])
    expect(await problemsOf({ posts: [post], comments: [comment] })).toEqual(['activation'])
    expect((await replay(run.id)).status).toBe(409)
  })

  test('P1: a draft with more grants gives no rights beyond the policy of the agent', async () => {
    const { hub, files, lanesOf, open, hubApi, scout } = world
    hub.seen.check = (given) => ({
      ok: true,
      facts: factsOf({ grants: given === files ? ['hub:read'] : ['fetch:read'] }),
    })
    const lanes = await lanesOf(await start({ files: { ...files } }))
    const order = await open(lanes[candidate]?.id as ActivationId)
    const policy = await hubApi.readPolicy(scout.id, null)
    expect(order?.policy.requested).toEqual(['fetch:read'])
    expect(order?.policy.denied).toEqual(policy.denied)
    expect(order?.policy.allowed).toEqual((await hubApi.readPolicy(scout.id, run.id)).allowed)
  })

  test('P2: the gateway decides by the grants of the lane and today’s policy', async () => {
    const { hub, files, lanesOf, open, hubApi, scout } = world
    // the draft gains one grant and loses another
    hub.seen.check = (given) => ({
      ok: true,
      facts: factsOf({
        grants: given === files ? ['hub:read'] : ['memory:read'],
      }),
    })
    const lanes = await lanesOf(await start({ files: { ...files } }))
    for (const { id } of lanes) await open(id)
    const [one, other] = [lanes[baseline]?.id, lanes[candidate]?.id] as ActivationId[]
    const canCall = async (activationId: ActivationId | undefined, grant: string) => {
      const runId = activationId as ActivationId
      const question = { accountId: scout.id, activationId: runId, runId, callId: 'c' }
      const asked = { ...question, tool: 'memory_list_facts', argumentsHash: '' }
      const { policy } = await hubApi.readAuthorization(asked)
      const listed = await hubApi.readPolicy(scout.id, runId)
      expect(isGranted(listed, grant)).toBe(isGranted(policy, grant))
      return isGranted(policy, grant)
    }
    const setPolicy = (denied: string[]) =>
      hub.call('/agents/scout/grants', {
        key: adminKey,
        method: 'PUT',
        body: { allowed: ['hub:*', 'memory:*'], denied },
      })
    expect((await setPolicy([])).status).toBe(200)
    expect(await canCall(other, 'memory:read')).toBe(true)
    expect(await canCall(one, 'memory:read')).toBe(false)
    expect(await canCall(run.id, 'memory:read')).toBe(false)
    expect(await canCall(one, 'hub:read')).toBe(true)
    expect(await canCall(other, 'hub:read')).toBe(false)
    // never more than the policy allows today
    expect((await setPolicy(['memory:*'])).status).toBe(200)
    expect(await canCall(other, 'memory:read')).toBe(false)
    expect((await setPolicy([])).status).toBe(200)
  })

  test('P2: a lane reads what the requesters of the run and whoever asked may both read, and what its thread allows', async () => {
    const { hub, office, hubApi, mira, ada, scout, lanesOf, open } = world
    const put = async (name: string, visibility: string, key: string) => {
      await hub.call('/communities', { key, body: { name, visibility } })
      const body = { community: name, title: 'Secret herons', content: 'Herons.' }
      const answer = await hub.call('/posts', { key, body })
      expect(answer.status).toBe(201)
      return answer.body.post.id as PostId
    }
    const secret = await put('attic', 'private', mira.key)
    const members = await office.first<{ id: string }>(
      `SELECT id FROM communities WHERE name = 'attic'`,
    )
    const listAll = (ids: string[]) =>
      Promise.all(
        ids.map((id) =>
          office.run(
            `INSERT OR IGNORE INTO community_members (community_id, account_id, role, created_at) VALUES (?, ?, 'member', 0)`,
            members?.id,
            id,
          ),
        ),
      )
    await listAll([scout.id])
    // a run in the community, for ada and for mira
    const [lane] = await lanesOf(await start())
    const laneId = lane?.id as ActivationId
    await open(laneId)
    await office.run(
      'UPDATE activations SET community_id = ?, requesters = json_array(?) WHERE id = ?',
      members?.id,
      ada.id,
      run.id,
    )
    const actor = { accountId: scout.id, name: 'scout', kind: 'agent', postId: null } as const
    const reads = (activationId: ActivationId) =>
      hubApi.readThread({ ...actor, activationId, idempotencyKey: null }, secret, 10).then(
        () => true,
        () => false,
      )
    // ada, who asked then, does not read it
    expect(await reads(laneId)).toBe(false)
    await listAll([ada.id])
    expect(await reads(laneId)).toBe(true)
    // mira, who asks now, left it
    await office.run('DELETE FROM community_members WHERE account_id = ?', mira.id)
    expect(await reads(run.id)).toBe(true)
    expect(await reads(laneId)).toBe(false)
    // a lane that was deleted reads nothing that is not public
    await office.run(
      `INSERT INTO community_members (community_id, account_id, role, created_at) VALUES (?, ?, 'member', 0)`,
      members?.id,
      mira.id,
    )
    expect(await reads(laneId)).toBe(true)
    expect(await reads(hub.clock.newId())).toBe(false)
    const policy = await hubApi.readPolicy(scout.id, laneId)
    const names = policy.requesters?.map(({ name }) => name).sort()
    expect(names).toEqual(['ada', 'mira'])
    await office.run(
      'UPDATE activations SET community_id = NULL, requesters = json_array(?) WHERE id = ?',
      mira.id,
      run.id,
    )
  })

  test.each([
    ['is not over', `UPDATE activations SET state = 'parked' WHERE id = ?`],
    ['was made by a coding agent', `UPDATE activations SET program = 'claude' WHERE id = ?`],
    ['has no record', 'DELETE FROM activation_traces WHERE activation_id = ?'],
  ])('P10: a run that %s cannot be replayed, and the promise says so', async (_, change) => {
    const { hub, mira, office, runOnce, replay } = world
    const other = await runOnce()
    await office.run(change, other.id)
    const { body } = await hub.call(`/activations/${other.id}/replays/preview`, {
      key: mira.key,
      body: {},
    })
    expect(body.promise.problems).toHaveLength(1)
    expect((await replay(other.id)).status).toBe(409)
    await office.run(`UPDATE activations SET state = 'done' WHERE id = ?`, other.id)
  })

  test('P1: a run that read a text which was deleted is not replayed, also by an admin who opened it', async () => {
    const { hub, mira, runOnce, replay } = world
    const other = await runOnce()
    const deleted = await hub.call(`/posts/${other.post}`, { key: mira.key, method: 'DELETE' })
    expect(deleted.status).toBe(200)
    expect((await replay(other.id)).status).toBe(403)
    expect((await replay(other.id, {}, adminKey)).status).toBe(403)
    await hub.call('/openings', { key: adminKey, body: { account: 'mira', reason: 'A report.' } })
    const answer = await replay(other.id, {}, adminKey)
    expect(answer.status).toBe(409)
    expect(answer.body.error).toContain('deleted')
  })
})

describe('what becomes of replays', () => {
  test('T10: the words of an account that is deleted go from replays and their objects', async () => {
    const { hub, office, runOnce, replay, lanesOf, open, renew, finish, differences } = world
    const zoe = await hub.join('zoe', 'human')
    const other = await runOnce(zoe.key)
    const { body } = await replay(other.id)
    const lanes = await lanesOf(body.replay.id)
    const [one, two] = lanes.map(({ id }) => id)
    await open(one as ActivationId)
    await finish(one as ActivationId, [usageOf(30, 3)])
    await open(two as ActivationId)
    await renew(two as ActivationId)
    const gone = await hub.call('/accounts/zoe?words=remove', { key: adminKey, method: 'DELETE' })
    expect(gone.status).toBe(200)
    expect([...hub.seen.deletedLanes].sort()).toEqual([one, two].sort())
    expect((await hub.call(`/replays/${body.replay.id}`, { key: adminKey })).status).toBe(404)
    const words = await office.all(
      `SELECT trace AS text FROM activation_traces WHERE activation_id IN (?1, ?2)
       UNION ALL SELECT answer FROM replay_lanes WHERE id IN (?1, ?2) AND answer <> ''`,
      one,
      two,
    )
    expect(words).toEqual([])
    // what the lane that ran had reserved counts as spent
    expect(await differences()).toEqual([])
    const held = await office.first<{ n: number }>(
      'SELECT total(reserved_microusd) AS n FROM replay_lanes',
    )
    expect(held?.n).toBe(0)
    expect(await open(two as ActivationId)).toBeNull()
  })
})
