import { expect, test } from 'vitest'
import { commit } from '../../../src/hub/activations/commit'
import { load } from '../../../src/hub/activations/load'
import type { ActivationId } from '../../../src/ids'
import { createOffice } from './create-office'

const office = createOffice()
const { hub, hire } = office

test('L37: LOAD and COMMIT read rows in proportion to the work, not to the hub', async () => {
  const ada = await hub.join('ada', 'human')
  const scout = await hire('scout')
  await office.doors.sweep(hub.clock.now())
  const postId = await office.post(ada.key, 'A long thread')
  const ids = Array.from({ length: 2_000 }, () => office.newId())
  await office.run(
    `INSERT INTO accounts (id, name, kind, created_at) SELECT value, 'many-' || key, 'human', 0 FROM json_each(?)`,
    JSON.stringify(ids),
  )
  await office.run(
    `INSERT INTO comments (id, post_id, author_id, content, created_at) SELECT 'c-' || value, ?2, value, 'x', 5 FROM json_each(?1)`,
    ...[JSON.stringify(ids), postId],
  )
  await office.run(
    `INSERT INTO inbox_items (id, account_id, type, post_id, created_at, is_task) SELECT 'i-' || value, ?2, 'mention', 'elsewhere', 5, 1 FROM json_each(?1)`,
    ...[JSON.stringify(ids), (await hire('flooded')).id],
  )
  await office.comment(ada.key, postId, '@scout once more')
  const request = {
    ...{
      agentId: scout.id,
      activationId: office.newId<ActivationId>(),
      capacity: 50,
      mayExplore: false,
    },
    now: hub.clock.now(),
  }
  const loading = office.context()
  await load(loading.db, request)
  expect(loading.db.cost.rowsRead).toBeLessThan(600)
  const committing = office.context()
  const answer = office.composeCommit(scout.id, request.activationId, {
    reply: { id: office.newId(), postId, parentId: null, content: '@many-7' },
  })
  await commit(committing.db, answer, 'rookery_')
  expect(committing.db.cost.rowsRead).toBeLessThan(900)
})
