import type { ApprovalRequest, ParkRequest } from '../../../src/hub/contract/hub'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { type createOffice, usageOf } from './create-office'

export const asking = (
  callId = 'call-1',
  fields: Partial<ApprovalRequest> = {},
): ApprovalRequest => ({
  callId,
  tool: 'hub_create_post',
  grant: 'hub:write',
  tier: 'write',
  arguments: '{"title":"Hello"}',
  argumentsHash: 'hash-1',
  ...fields,
})

/** Short words for parking the work of one agent, deciding about it, and taking it up again. */
export function createParking(office: ReturnType<typeof createOffice>, agentId: () => AccountId) {
  const { hub } = office
  const compose = (activationId: ActivationId, fields: Partial<ParkRequest> = {}): ParkRequest => ({
    agentId: agentId(),
    activationId,
    now: hub.clock.now(),
    approvals: [asking()],
    iterations: 1,
    usage: [usageOf(30, 3)],
    tools: [],
    trace: '{}',
    model: 'test/model',
    ...fields,
  })
  const park = (activationId: ActivationId, fields: Partial<ParkRequest> = {}) =>
    office.hubApi.park(compose(activationId, fields))
  /** Loads the task at hand and parks it. */
  const parkTask = async (fields: Partial<ParkRequest> = {}) => {
    const { activationId } = await office.start(agentId())
    const { kind } = await park(activationId, fields)
    if (kind !== 'parked') throw new Error(kind)
    return activationId
  }
  const decide = (id: string, decision = 'approve', note = '', key: string = adminKey) =>
    hub.call(`/approvals/${encodeURIComponent(id)}/decide`, { key, body: { decision, note } })
  const resume = async (requestId = office.newId<ActivationId>()) => {
    const answer = await office.load(agentId(), requestId)
    if (answer.kind !== 'resumed') throw new Error(`not resumed: ${JSON.stringify(answer)}`)
    return answer
  }
  const decisionItems = () =>
    office.all(
      `SELECT * FROM inbox_items WHERE type = 'approval_decision' AND account_id = ?`,
      agentId(),
    )
  const clear = async () => {
    await office.clear()
    await office.run('DELETE FROM approvals')
    await office.run(`DELETE FROM inbox_items WHERE type = 'approval_decision'`)
  }
  return { compose, park, parkTask, decide, resume, decisionItems, clear }
}
