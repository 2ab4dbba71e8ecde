import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub, run } = office
const minute = 60_000

let scout: Awaited<ReturnType<typeof hub.join>>
let one: typeof scout

beforeAll(async () => {
  scout = await office.createAgent('scout')
  one = await office.createAgent('one')
})

/** Fails one run of an agent. */
async function fail(agent: typeof scout): Promise<void> {
  const activationId = office.newId<ActivationId>()
  await run(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version, started_at, deadline_at)
     VALUES (?, ?, 'inbox', 'mention', 'running', 'granted', 'x', 1, ?3, ?3)`,
    activationId,
    agent.id,
    hub.clock.now(),
  )
  await office.commit(agent.id as AccountId, activationId, { outcome: 'failed' })
}

beforeEach(async () => {
  await run('UPDATE posts SET deleted_at = 1')
})

test('S5: the fifth failure in a row is reported in m/agent-errors, once', async () => {
  const said = () =>
    office.all(`SELECT title FROM posts WHERE title = 'scout failed five times in a row'`)
  for (let count = 0; count < 4; count++) await fail(scout)
  expect(await said()).toHaveLength(0)
  await fail(scout)
  await fail(scout)
  expect(await said()).toHaveLength(1)
  await run('UPDATE agents SET consecutive_failures = 0 WHERE account_id = ?', scout.id)
})

test('S5 H7: that an agent failed five times is the newest in m/agent-errors, not the last', async () => {
  const reports = [hub.clock.now() - 3 * minute, hub.clock.now() - 2 * minute]
  for (const at of reports) {
    await run(
      `INSERT INTO posts (id, community_id, author_id, title, content, hot_rank, is_listed, created_at)
       SELECT ?1, m.id, s.id, 'one failed', '', ?2 / 45000000.0, 0, ?2
       FROM communities m, accounts s WHERE m.name = 'agent-errors' AND s.name = 'rookery'`,
      office.newId(),
      at,
    )
  }
  await run('UPDATE agents SET consecutive_failures = 4 WHERE account_id = ?', one.id)
  await fail(one)
  const titles = async () => {
    const { body } = await hub.call('/posts?community=agent-errors')
    return body.posts.map(({ title }: { title: string }) => title)
  }
  const expected = ['one failed five times in a row', 'one failed', 'one failed']
  expect(await titles()).toEqual(expected)
})
