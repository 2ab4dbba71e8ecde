import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createOffice } from './create-office'
import { asking, createParking } from './create-parking'

const office = createOffice()
const { hub, createAgent, load, start, post } = office
let ada: Awaited<ReturnType<typeof hub.join>>
let scout: typeof ada
const { park, decide, resume, clear } = createParking(office, () => scout.id)

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  scout = await createAgent('scout')
  await office.hubApi.sweep(hub.clock.now())
})
beforeEach(async () => {
  await post(ada.key, '@scout please write a post')
})
afterEach(clear)

/** Requests approval of a call as a program's call over `/mcp` does, while its run goes on. */
const askForProgram = async (callId = 'call-1') => {
  const { activationId } = await start(scout.id)
  await office.hubApi.requestApproval(scout.id, asking(callId), activationId)
  return { activationId, approvalId: `${activationId}:${callId}` }
}
const programPark = { areRequested: true as const, approvals: [asking()] }

test('X6: what a program waits for is asked once, and its decision wakes the agent and later resumes the parked run', async () => {
  const { activationId, approvalId } = await askForProgram()
  expect(await office.hubApi.readApprovalStatus(activationId, 'call-1')).toBe('pending')
  expect(await office.hubApi.readApprovalStatus(activationId, 'other')).toBeNull()
  expect(await office.countTrips(() => park(activationId, programPark))).toBe(1)
  expect((await park(activationId, programPark)).kind).toBe('parked')
  expect(await office.all('SELECT id, activation_id AS run FROM approvals')).toEqual([
    { id: approvalId, run: activationId },
  ])
  expect(
    await office.all('SELECT 1 FROM inbox_items WHERE approval_id = ?', approvalId),
  ).toHaveLength(1)
  expect(await office.activation(activationId)).toMatchObject({
    state: 'parked',
    reserved_microusd: 0,
    reserved_tokens: 0,
  })
  await decide(approvalId)
  expect(hub.seen.woken.at(-1)).toBe(scout.id)
  expect(await resume()).toMatchObject({
    activationId,
    decisions: [{ callId: 'call-1', decision: 'approved' }],
  })
  expect((await park(activationId, programPark)).kind).toBe('lost')
})

test.each(['approve', 'deny'])(
  'X6: a run that parks after the decision resumes at once (%s)',
  async (decision) => {
    const { activationId, approvalId } = await askForProgram()
    const woken = hub.seen.woken.length
    await decide(approvalId, decision)
    expect(hub.seen.woken.slice(woken)).toEqual([scout.id])
    expect(await office.hubApi.readApprovalStatus(activationId, 'call-1')).not.toBe('pending')
    expect((await park(activationId, programPark)).waiting).toContain(scout.id)
    const { decisions } = await resume()
    expect(decisions).toMatchObject([{ callId: 'call-1' }])
    expect(await load(scout.id)).not.toMatchObject({ kind: 'resumed' })
  },
)

test('X6: an approval that nobody decided ends with its run, which can use it no more', async () => {
  const { activationId, approvalId } = await askForProgram()
  await office.commit(scout.id, activationId, { program: 'goose' })
  expect(await office.first('SELECT status FROM approvals')).toEqual({ status: 'cancelled' })
  expect(
    await office.all('SELECT read_at FROM inbox_items WHERE approval_id = ?', approvalId),
  ).toEqual([{ read_at: hub.clock.now() }])
  expect((await decide(approvalId)).status).toBe(409)
})

test('X6: a call whose approval an equal call has used asks again, also when its run parks for it', async () => {
  const { activationId, approvalId } = await askForProgram()
  const use = async () => {
    await decide(approvalId)
    await office.run("UPDATE approvals SET used_by = 'audit-1'")
  }
  const unread = () =>
    office.all("SELECT 1 FROM inbox_items WHERE type = 'approval_request' AND read_at IS NULL")
  await use()
  expect(await unread()).toEqual([])
  await office.hubApi.requestApproval(scout.id, asking(), activationId)
  expect(await office.hubApi.readApprovalStatus(activationId, 'call-1')).toBe('pending')
  expect(await unread()).not.toEqual([])
  await use()
  expect(await park(activationId, programPark)).toEqual({ kind: 'parked', waiting: [] })
  expect(await office.all('SELECT id, status, activation_id AS run FROM approvals')).toEqual([
    { id: approvalId, status: 'pending', run: activationId },
  ])
  expect(await unread()).not.toEqual([])
  await park(activationId, programPark)
  expect(await unread()).toHaveLength(1)
  await decide(approvalId)
  expect(await resume()).toMatchObject({ decisions: [{ callId: 'call-1', decision: 'approved' }] })
})
