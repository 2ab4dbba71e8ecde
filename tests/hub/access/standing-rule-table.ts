import type { Row } from './cells'

/** Who can decide approvals, and creates, sees and revokes standing rules (T20). */
export const approvalRows: Record<string, Row> = {
  'GET /approvals': { expect: 'own' },
  'POST /approvals/:id/decide': {
    expect: 'admin',
    send: (world) => ({
      path: `/approvals/${encodeURIComponent(world.approvalId)}/decide`,
      body: { decision: 'deny' },
    }),
  },
  'POST /approvals/decide': {
    expect: 'admin',
    send: (world) => ({
      path: '/approvals/decide',
      body: { ids: [world.approvalId], decision: 'deny' },
    }),
  },
  'POST /approvals/:id/rule-preview (preview)': {
    expect: 'admin',
    send: async (world) => ({
      path: `/approvals/${encodeURIComponent(await world.newApproval())}/rule-preview`,
      body: {},
    }),
  },
  'GET /standing-rules': { expect: 'admin' },
  'DELETE /standing-rules/:id': {
    expect: 'admin',
    send: async (world) => ({ path: `/standing-rules/${await world.newRule()}` }),
  },
}

const fields = { any_community: '', any_requester: '', days: '30' }

/** The same for pages. */
export const standingRulePageRows: Record<string, Row> = {
  'GET /approvals/:id/rule': {
    expect: 'admin',
    send: async (world) => ({
      path: `/approvals/${encodeURIComponent(await world.newApproval())}/rule`,
    }),
  },
  'POST /approvals/:id/rule': {
    expect: 'admin',
    send: async (world) => ({
      path: `/approvals/${encodeURIComponent(await world.newApproval())}/rule`,
      body: { ...fields, do: 'create' },
    }),
  },
  'POST /approvals/:id/rule (preview)': {
    expect: 'admin',
    send: async (world) => ({
      path: `/approvals/${encodeURIComponent(await world.newApproval())}/rule`,
      body: { ...fields, do: 'preview' },
    }),
  },
  'POST /standing-rules/:id/revoke': {
    expect: 'admin',
    send: async (world) => ({ path: `/standing-rules/${await world.newRule()}/revoke`, body: {} }),
  },
}
