import type { Row } from './cells'

/** T20: who can decide creates standing rules, sees them and revokes them. */
export const standingRuleRows: Record<string, Row> = {
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
