import { beforeAll, beforeEach, expect, test } from 'vitest'
import { computeHotRank } from '../../../src/hub/rules/hot-rank'
import { explorationScheduling } from '../../../src/shared/config'
import type { Outcome } from '../../../src/shared/errors'
import type { ActivationId, PostId } from '../../../src/shared/ids'
import { createOffice, usageOf } from './create-office'

const office = createOffice()
const { hub, createAgent, run, first, all } = office
const day = 86_400_000
let ada: Awaited<ReturnType<typeof hub.join>>
let scout: typeof ada

beforeAll(async () => {
  ada = await hub.join('ada-of-outcomes', 'human')
  scout = await createAgent('scout-of-outcomes')
  await office.hubApi.sweep(hub.clock.now())
})
beforeEach(async () => {
  await office.clear()
  await run('DELETE FROM agent_days')
  await run('UPDATE agents SET consecutive_failures = 0')
})

async function end(outcome: Outcome, fields: Parameters<typeof office.commit>[2] = {}) {
  await office.post(ada.key, '@scout-of-outcomes')
  const { activationId } = await office.start(scout.id)
  await office.commit(scout.id, activationId, { outcome, ...fields })
  return activationId
}

const reports = () =>
  all(
    `SELECT title, content, hot_rank, is_listed, p.created_at FROM posts p JOIN communities m ON m.id = p.community_id
     WHERE m.name = 'agent-errors' AND title LIKE 'scout-of-outcomes %' ORDER BY p.created_at`,
  )
const countPosts = async () =>
  Number((await first(`SELECT post_count AS n FROM communities WHERE name = 'agent-errors'`))?.n)

test('S5: the failure that opens the circuit is reported in m/agent-errors, once', async () => {
  const before = (await countPosts()) + 1
  const older = { id: office.newId<PostId>(), title: 'An older report', content: '' }
  await end('failed', { report: older })
  for (let count = 2; count < explorationScheduling.failuresMax; count++) await end('failed')
  await end('cancelled')
  expect(await reports()).toEqual([])
  const activationId = await end('failed')
  const now = hub.clock.now()
  const report = {
    title: 'scout-of-outcomes failed five times in a row',
    content: expect.stringContaining('(/a/scout-of-outcomes)'),
    hot_rank: computeHotRank(0, now),
    is_listed: 0,
    created_at: now,
  }
  expect(await reports()).toEqual([report])
  expect(await countPosts()).toBe(before + 1)
  const { body } = await hub.call('/posts?community=agent-errors')
  expect(body.posts[0]).toMatchObject({ title: report.title, author: { kind: 'system' } })
  await office.commit(scout.id, activationId, { outcome: 'failed' })
  await end('failed')
  expect(await reports()).toEqual([report])
  expect(await countPosts()).toBe(before + 1)
})

test('S5: the report of the failure and that of the circuit are both posted', async () => {
  const before = await countPosts()
  await run(
    'UPDATE agents SET consecutive_failures = ? WHERE account_id = ?',
    explorationScheduling.failuresMax - 1,
    scout.id,
  )
  const report = { id: office.newId<PostId>(), title: 'It failed', content: '{agent}' }
  await end('failed', { report })
  expect(await first('SELECT title, content FROM posts WHERE id = ?', report.id)).toEqual({
    title: 'It failed',
    content: '{agent}',
  })
  expect(await countPosts()).toBe(before + 2)
})

test('S9: an exploration that wrote nothing has seen what was there; any other run has not', async () => {
  await run(
    'INSERT INTO explorers (account_id, interval_ms, updated_at) VALUES (?, 1, 0)',
    scout.id,
  )
  const passedAt = async () =>
    (await first('SELECT passed_at AS at FROM explorers WHERE account_id = ?', scout.id))?.at
  await end('completed')
  expect(await passedAt()).toBe(0)
  const explore = async (outcome: Outcome, hasContributed: boolean) => {
    const { activationId, startedAt } = await startExploration()
    if (hasContributed) {
      await run(
        `INSERT INTO contributions (activation_id, account_id, confidence, least, created_at) VALUES (?, ?, 1, 0, 0)`,
        activationId,
        scout.id,
      )
    }
    await office.commit(scout.id, activationId, { outcome })
    return { activationId, startedAt }
  }
  await explore('failed', false)
  await explore('completed', true)
  expect(await passedAt()).toBe(0)
  const { activationId, startedAt } = await explore('completed', false)
  expect(await passedAt()).toBe(startedAt)
  await run('UPDATE explorers SET passed_at = 7 WHERE account_id = ?', scout.id)
  await office.commit(scout.id, activationId)
  expect(await passedAt()).toBe(7)
  await run('DELETE FROM explorers WHERE account_id = ?', scout.id)
  expect(await days()).toMatchObject([{ activations: 4, contributions: 1, passes: 1, failures: 1 }])
})

async function startExploration() {
  hub.clock.advance(1)
  const activationId = office.newId<ActivationId>()
  const startedAt = hub.clock.now()
  await run(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version, started_at, deadline_at)
     VALUES (?1, ?2, 'exploration', 'exploration', 'running', 'granted', 'test/model', 1, ?3, ?3)`,
    activationId,
    scout.id,
    startedAt,
  )
  return { activationId, startedAt }
}

const days = () => all('SELECT * FROM agent_days WHERE account_id = ? ORDER BY day', scout.id)

test('B9: COMMIT counts the run in the day of its agent, once', async () => {
  const call = { tool: 'hub_search', grant: 'hub:read', argumentsHash: 'x', outcome: null }
  const refused = { ...call, durationMs: null, resultBytes: null, at: 0 } as const
  const postId = await office.post(ada.key, '@scout-of-outcomes')
  const { activationId } = await office.start(scout.id)
  const answer = office.composeCommit(scout.id, activationId, {
    reply: { id: office.newId(), postId, parentId: null, content: 'Here.' },
    audit: [
      { ...refused, callId: 'a', decision: 'denied' },
      { ...refused, callId: 'b', decision: 'rate_limited' },
      { ...refused, callId: 'c', decision: 'allowed' },
    ],
    usage: [usageOf(1, 1)],
  })
  await Promise.all([office.hubApi.commit(answer), office.hubApi.commit(answer)])
  const none = { contributions: 0, passes: 0, failures: 0, out_of_budget: 0, refused_mentions: 0 }
  const row = { account_id: scout.id, day: Math.floor(hub.clock.now() / day), ...none }
  expect(await days()).toEqual([
    { ...row, activations: 1, answers: 1, refused_answers: 0, refused_calls: 2 },
  ])

  const locked = await office.post(ada.key, '@scout-of-outcomes')
  const next = await office.start(scout.id)
  await run('UPDATE posts SET is_locked = 1 WHERE id = ?', locked)
  await office.commit(scout.id, next.activationId, {
    outcome: 'failed',
    reply: { id: office.newId(), postId: locked, parentId: null, content: 'Too late.' },
  })
  expect(await days()).toEqual([
    { ...row, activations: 2, answers: 1, refused_answers: 1, refused_calls: 2, failures: 1 },
  ])
  expect(await office.activation(next.activationId)).toMatchObject({
    reply_refusal: 'thread_locked',
  })
  expect((await office.inbox(scout.id)).at(-1)?.refusal).toBe('thread_locked')
})
