import { beforeAll, beforeEach, expect, test } from 'vitest'
import { AppError } from '../../../src/shared/errors'
import { adminKey, readCost } from '../create-test-hub'
import { ask, counter, createBudget, createCase, office, reply, rows } from './quiet-cases'

const { hub } = office

beforeAll(() => office.hubApi.sweep(hub.clock.now()))
beforeEach(async () => {
  await office.clear()
  await office.run(`DELETE FROM budgets WHERE scope <> 'hub' AND scope <> 'guests'`)
  await office.run('DELETE FROM outage_waits')
  await office.run('DELETE FROM provider_outages')
  hub.seen.checkModel = async (_agent, model) => model
})

test('C7: a mention that nothing stops has only open gates, and the agent starts', async () => {
  const { mira, scout, postId } = await createCase()
  const { closed, gates, headers, body } = await ask(scout.name, postId, mira.key)
  expect(closed).toEqual([])
  expect(gates.length).toBeGreaterThan(15)
  expect(body.says).toBe(`Nothing stops ${scout.name}.`)
  expect(readCost(headers).roundTrips).toBe(1)
  expect(await office.load(scout.id)).toMatchObject({ kind: 'loaded', admission: 'granted' })
})

test.each(rows)('C7: $gate is the one closed gate, and the agent does not run', async (row) => {
  const scene = await createCase()
  await row.close(scene)
  const { closed, gates, body } = await ask(scene.scout.name, scene.postId)
  expect(closed).toEqual([row.gate])
  const gate = gates.find(({ gate: key }) => key === row.gate)
  expect(gate?.fix).toBeTruthy()
  expect(body.says).toBe(gate?.says)
  expect(await office.load(scene.scout.id, undefined, 10)).toMatchObject(row.load)
})

test('C7: a thread that does not mention the agent, or not so that it wakes, closes the mention', async () => {
  for (const write of [() => 'Why?', (name: string) => `\`@${name}\` why?`]) {
    const { scout, postId } = await createCase(write)
    expect((await ask(scout.name, postId)).closed).toEqual(['mention'])
    expect(await office.load(scout.id)).toEqual({ kind: 'nothing' })
  }
  const { mira, scout } = await createCase(() => 'Why?')
  await office.run('UPDATE agents SET answers_mentions = 0 WHERE account_id = ?', scout.id)
  const postId = await office.post(mira.key, `@${scout.name} why?`)
  expect((await ask(scout.name, postId)).closed).toEqual(['mention'])
  expect(await office.load(scout.id)).toEqual({ kind: 'nothing' })
})

test('C7: a hop limit that kept an agent from being woken is the one closed gate', async () => {
  const { scout: first, postId } = await createCase()
  const last = await office.createAgent(`last-${counter.count}`)
  const bot = await hub.join(`bot-${counter.count}`)
  await office.run(
    'UPDATE inbox_items SET hops = 4, from_account_id = ?1, requesters = json_array(?1) WHERE account_id = ?2',
    bot.id,
    first.id,
  )
  await reply(first.id, await office.start(first.id), `@${last.name} please check.`)
  expect((await ask(last.name, postId)).closed).toEqual(['reply_limit'])
  expect(await office.load(last.id)).toEqual({ kind: 'nothing' })
})

test('C7: an external agent at its limit of calls an hour finds that gate closed, with the number', async () => {
  const { scout, postId } = await createCase(() => 'Why?')
  const bot = await hub.join(`bot-${counter.count}`)
  await office.run(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
     INSERT INTO inbox_items (id, account_id, type, from_account_id, created_at, read_at, is_task)
     SELECT 'call-' || ?1 || i, ?1, 'mention', ?2, ?3, 1, 1 FROM n`,
    scout.id,
    bot.id,
    hub.clock.now(),
  )
  await office.comment(bot.key, postId, `@${scout.name} again?`)
  const { closed, gates } = await ask(scout.name, postId)
  expect(closed).toEqual(['hourly_calls'])
  expect(gates.find(({ gate }) => gate === 'hourly_calls')?.says).toContain('30 of 30')
  expect(await office.load(scout.id)).toEqual({ kind: 'nothing' })
})

test('C7: another run of the agent, and its older tasks, are gates of a thread', async () => {
  const { mira, scout, postId } = await createCase()
  const later = await office.post(mira.key, `@${scout.name} and this?`)
  expect((await ask(scout.name, later)).closed).toEqual(['queue'])
  expect((await ask(scout.name, postId)).closed).toEqual([])
  const started = await office.start(scout.id)
  expect(started.thread?.post.id).toBe(postId)
  expect((await ask(scout.name, later)).closed).toEqual(['running'])
  expect((await ask(scout.name, postId)).closed).toEqual([])
  expect(await office.load(scout.id)).toMatchObject({ kind: 'wait', reason: 'already_running' })
})

test('C7: a locked thread closes its gate before and after the run', async () => {
  const { scout, postId } = await createCase()
  const started = await office.start(scout.id)
  await office.run('UPDATE posts SET is_locked = 1 WHERE id = ?', postId)
  expect((await ask(scout.name, postId)).closed).toEqual(['thread'])
  expect(await reply(scout.id, started, 'Done.')).toMatchObject({ replyRefusal: 'thread_locked' })
  expect((await ask(scout.name, postId)).closed).toEqual(['thread'])
})

test('C7: an agent that does not read the community has the gate of the community closed', async () => {
  const { mira, scout } = await createCase()
  const name = `closed-${counter.count}`
  await hub.call('/communities', { key: mira.key, body: { name } })
  await office.run(`UPDATE communities SET visibility = 'private' WHERE name = ?`, name)
  const { body } = await hub.call('/posts', {
    key: mira.key,
    body: { community: name, title: 'Secret', content: `@${scout.name} why?` },
  })
  await office.run(
    'UPDATE inbox_items SET read_at = 1 WHERE account_id = ? AND post_id <> ?',
    scout.id,
    body.post.id,
  )
  expect((await ask(scout.name, body.post.id, mira.key)).closed).toEqual(['access'])
  expect(await office.load(scout.id)).toEqual({ kind: 'nothing' })
  const stranger = await hub.join(`piet-${counter.count}`, 'human')
  for (const key of [stranger.key, null]) {
    expect((await ask(scout.name, body.post.id, key)).status).toBe(404)
  }
  await office.run(`UPDATE communities SET visibility = 'public' WHERE name = ?`, name)
})

test('C7: a definition that cannot be used closes the model; a missing key is answered offline', async () => {
  const { scout, postId } = await createCase()
  hub.seen.checkModel = async () => {
    throw new AppError('INVALID_DEFINITION', 'config.yaml is missing.')
  }
  expect((await ask(scout.name, postId)).closed).toEqual(['model'])
  hub.seen.checkModel = async () => {
    throw new AppError('VALIDATION', 'anthropic is not configured.')
  }
  const { closed, gates } = await ask(scout.name, postId)
  expect(closed).toEqual([])
  expect(gates.find(({ gate }) => gate === 'model')?.says).toContain('offline model')
})

test('C7: amounts of a requester’s budget are for the requester and admins', async () => {
  const { mira, scout, postId } = await createCase()
  await createBudget({ scope: 'requester', name: mira.name })
  const stranger = await hub.join(`piet-${counter.count}`, 'human')
  const saysFor = async (key: string | null) =>
    (await ask(scout.name, postId, key)).gates.find(({ gate }) => gate === 'requester_budget')?.says
  for (const key of [mira.key, adminKey]) expect(await saysFor(key)).toContain('$')
  for (const key of [stranger.key, null]) {
    expect(await saysFor(key)).toContain('is used up')
    expect(await saysFor(key)).not.toContain('$')
  }
})

test('C7: without a thread the gates say why the agent does not explore', async () => {
  const { scout } = await createCase()
  const { closed, gates, headers } = await ask(scout.name)
  expect(closed).toEqual(['exploration'])
  expect(gates.map(({ gate }) => gate)).toContain('schedule')
  expect(gates.map(({ gate }) => gate)).not.toContain('mention')
  expect(readCost(headers).roundTrips).toBe(1)
  const silent = hub.seen.explain
  hub.seen.explain = () => {
    throw new Error('asleep')
  }
  const unknown = (await ask(scout.name)).gates.filter(({ state }) => state === 'unknown')
  expect(unknown.map(({ gate }) => gate)).toEqual(['capacity', 'exploration'])
  hub.seen.explain = silent
  expect((await ask(`mira-${counter.count}`)).status).toBe(404)
})
