import { afterEach, beforeAll, expect, test } from 'vitest'
import type { ActivationId, CommentId, PostId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'
import { createParking } from '../runs/create-parking'

const office = createOffice()
const { hub } = office
const { parkTask, decide, decisionItems, clear, resume } = createParking(office, () => scout.id)
let ada: Awaited<ReturnType<typeof hub.join>>
let boss: typeof ada
let scout: typeof ada

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  boss = await hub.join('boss', 'human')
  await hub.call('/accounts/boss/role', { method: 'PUT', key: adminKey, body: { role: 'admin' } })
  scout = await office.createAgent('scout')
  await office.run(`UPDATE agents SET grants = '["*"]'`)
  await office.hubApi.sweep(hub.clock.now())
  const body = { allowed: ['hub:*', 'github:write for admins'] }
  await hub.call('/agents/*/grants', { method: 'PUT', key: adminKey, body })
})
afterEach(clear)

const requestersOf = async (id: string) =>
  JSON.parse(
    (
      await office.first<{ requesters: string }>(
        'SELECT requesters FROM activations WHERE id = ?',
        id,
      )
    )?.requesters ?? 'null',
  )

/** Answers the run, and returns who is notified of the answer. */
async function answerRun(postId: PostId, requestId: ActivationId) {
  const reply = { id: office.newId<CommentId>(), postId, parentId: null, content: 'Done.' }
  await office.commit(scout.id, requestId, { reply })
  const items = await office.all<{ account_id: string }>(
    `SELECT account_id FROM inbox_items WHERE comment_id = ?`,
    reply.id,
  )
  return items.map(({ account_id }) => account_id)
}

/** Parks a run, lets boss approve its call, and resumes it. */
async function decideAndResume() {
  const activationId = await parkTask()
  expect((await decide(`${activationId}:call-1`, 'approve', '', boss.key)).status).toBe(200)
  return { activationId, resumed: await resume() }
}

test('T1: an admin who decides about a call of their own run stays its one requester', async () => {
  const postId = await office.post(boss.key, '@scout please write')
  const { activationId, resumed } = await decideAndResume()
  expect(await requestersOf(activationId)).toEqual([boss.id])
  const policy = await office.hubApi.readPolicy(scout.id, activationId)
  expect(policy).toMatchObject({ requesters: [{ name: 'boss', role: 'admin' }] })
  expect(policy.allowed).toEqual(['hub:*', 'github:write'])
  expect(resumed.decisions).toMatchObject([{ decision: 'approved', by: 'boss' }])
  // The admin still sees the approval as that of the own request, and the run has one item of it.
  const mine = await hub.call('/approvals?status=all', { key: boss.key })
  expect(mine.body.approvals).toHaveLength(1)
  expect(await decisionItems()).toMatchObject([
    { from_account_id: boss.id, claimed_by: activationId },
  ])
  const items = await office.all(
    `SELECT from_account_id FROM inbox_items WHERE claimed_by = ? AND type <> 'approval_decision'`,
    activationId,
  )
  expect(items).toEqual([{ from_account_id: boss.id }])
  expect(await answerRun(postId, resumed.activationId)).toEqual([boss.id])
})

test("T1: an admin who decides about a call of a member's run does not become its requester", async () => {
  const postId = await office.post(ada.key, '@scout please write')
  const { activationId, resumed } = await decideAndResume()
  expect(await requestersOf(activationId)).toEqual([ada.id])
  const policy = await office.hubApi.readPolicy(scout.id, activationId)
  expect(policy).toMatchObject({
    requesters: [{ name: 'ada', role: 'member' }],
    allowed: ['hub:*'],
    withheld: ['github:write for admins'],
  })
  expect(await answerRun(postId, resumed.activationId)).toEqual([ada.id])
})

test('T1: an admin who decides about a call of a run for the hub itself does not become its requester', async () => {
  await office.post(ada.key, '@scout please write')
  await office.run(
    `UPDATE inbox_items SET requesters = '[]' WHERE account_id = ? AND read_at IS NULL`,
    scout.id,
  )
  const { activationId } = await decideAndResume()
  expect(await requestersOf(activationId)).toEqual([])
  const policy = await office.hubApi.readPolicy(scout.id, activationId)
  expect(policy.requesters).toEqual([])
  expect(policy.allowed).not.toContain('github:write')
})
