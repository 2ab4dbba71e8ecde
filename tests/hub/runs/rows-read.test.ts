import { expect, test } from 'vitest'
import { commit, load, renew } from '../../../src/hub/runs/activation-api'
import type { ActivationId, PostId } from '../../../src/shared/ids'
import { createOffice } from './create-office'

const office = createOffice()
const { hub, createAgent } = office

test('L37: LOAD and COMMIT read rows in proportion to the work, not to the hub', async () => {
  const ada = await hub.join('ada', 'human')
  const scout = await createAgent('scout')
  await office.hubApi.sweep(hub.clock.now())
  const postId = await office.post(ada.key, 'A long thread')
  const ids = Array.from({ length: 2_000 }, () => office.newId())
  await office.run(
    `INSERT INTO accounts (id, name, kind, created_at) SELECT value, 'many-' || key, 'human', 0 FROM json_each(?)`,
    JSON.stringify(ids),
  )
  await office.run(
    `INSERT INTO comments (id, post_id, author_id, content, created_at) SELECT 'c-' || value, ?2, value, 'x', 5 FROM json_each(?1)`,
    JSON.stringify(ids),
    postId,
  )
  await office.run(
    `INSERT INTO inbox_items (id, account_id, type, post_id, created_at, is_task) SELECT 'i-' || value, ?2, 'mention', 'elsewhere', 5, 1 FROM json_each(?1)`,
    JSON.stringify(ids),
    (await createAgent('flooded')).id,
  )
  await office.comment(ada.key, postId, '@scout once more')
  const request = {
    agentId: scout.id,
    activationId: office.newId<ActivationId>(),
    capacity: 50,
    canExplore: false,
    now: hub.clock.now(),
  }
  const loading = office.context()
  await load(loading, request)
  expect(loading.db.cost.rowsRead).toBeLessThan(600)
  const committing = office.context()
  const answer = office.composeCommit(scout.id, request.activationId, {
    reply: { id: office.newId(), postId, parentId: null, content: '@many-7' },
  })
  await commit(committing, answer)
  expect(committing.db.cost.rowsRead).toBeLessThan(900)
})

test('B4: LOAD, RENEW and COMMIT read as little after ten thousand activations, among ten thousand budgets', async () => {
  const ada = await hub.join('bea', 'human')
  const lark = await createAgent('lark')
  const ids = Array.from({ length: 10_000 }, () => office.newId())
  const list = JSON.stringify(ids)
  await office.run(
    `INSERT INTO accounts (id, name, kind, created_at) SELECT value, 'past-' || key, 'agent', 0 FROM json_each(?)`,
    list,
  )
  await office.run(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, models, definition_version, started_at, deadline_at)
     SELECT 'x-' || value, value, 'inbox', 'mention', 'done', 'granted', 'test/m', '["test/m"]', 1, key, key FROM json_each(?)`,
    list,
  )
  await office.run(
    `INSERT INTO budgets (id, scope, scope_id, period, created_at, updated_at) SELECT 'b-' || value, 'agent', value, 'day', 0, 0 FROM json_each(?)`,
    list,
  )
  await office.run(
    `INSERT INTO usage_events (activation_id, call, account_id, model, task, input_tokens, cached_tokens,
       output_tokens, reasoning_tokens, cost_microusd, is_priced, is_estimated, duration_ms, created_at)
     SELECT 'x-' || value, 1, value, 'test/m', 'mention', 1, 0, 1, 0, 1, 1, 0, 1, key FROM json_each(?)`,
    list,
  )
  const postId = await office.post(ada.key, '@lark')
  const activationId = office.newId<ActivationId>()
  const now = hub.clock.now()
  const rowsRead = async (
    work: (context: ReturnType<typeof office.context>) => Promise<unknown>,
  ) => {
    const context = office.context()
    await work(context)
    return context.db.cost.rowsRead
  }
  const asked = { agentId: lark.id, activationId, now, capacity: 50, canExplore: false }
  expect(await rowsRead((context) => load(context, asked))).toBeLessThan(200)
  const money = { microusd: 10, tokens: 1 }
  const more = { agentId: lark.id, activationId, now, spent: money, want: money, floor: money }
  expect(await rowsRead((context) => renew(context, more))).toBeLessThan(100)
  const answer = office.composeCommit(lark.id, activationId, {
    reply: { id: office.newId(), postId, parentId: null, content: 'Done.' },
  })
  expect(await rowsRead((context) => commit(context, answer))).toBeLessThan(900)

  await office.post(ada.key, '@lark')
  const failing = await office.start(lark.id)
  const report = { id: office.newId<PostId>(), title: 'lark failed', content: 'X' }
  const failed = { outcome: 'failed', report } as const
  const failure = office.composeCommit(lark.id, failing.activationId, failed)
  expect(await rowsRead((context) => commit(context, failure))).toBeLessThan(900)
})
