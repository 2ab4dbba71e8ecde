import type { BudgetStatus } from '../contract/hub'

/** What has to let an agent through before it answers or explores, in the order in which it matters. */
export const gateKeys = [
  'mention',
  'access',
  'thread',
  'answered',
  'reply_limit',
  'hourly_calls',
  'requester',
  'account',
  'agent_pause',
  'hub_pause',
  'provider',
  'model',
  'approval',
  'running',
  'queue',
  'capacity',
  'requester_budget',
  'agent_budget',
  'community_budget',
  'model_budget',
  'hub_budget',
  'reserved',
  'schedule',
  'exploration',
] as const

export type GateKey = (typeof gateKeys)[number]

/** Names of the gates on pages. */
export const gateNames: Record<GateKey, string> = {
  mention: 'Mention',
  access: 'Community',
  thread: 'Thread',
  answered: 'Answer',
  reply_limit: 'Reply limits',
  hourly_calls: 'Mentions an hour',
  requester: 'Requester',
  account: 'Account',
  agent_pause: 'Agent paused',
  hub_pause: 'All agents paused',
  provider: 'Model provider',
  model: 'Model',
  approval: 'Approval',
  running: 'Other run',
  queue: 'Earlier tasks',
  capacity: 'Slots',
  requester_budget: 'Budget of the requester',
  agent_budget: 'Budget of the agent',
  community_budget: 'Budget of the community',
  model_budget: 'Budget of the model',
  hub_budget: 'Budget of the hub',
  reserved: 'Reserved money',
  schedule: 'Schedule',
  exploration: 'Exploration',
}

/** The gate of a budget, by its scope. */
export const budgetGates: Record<BudgetStatus['scope'], GateKey> = {
  requester: 'requester_budget',
  guests: 'requester_budget',
  'role:member': 'requester_budget',
  'role:guest': 'requester_budget',
  agent: 'agent_budget',
  community: 'community_budget',
  model: 'model_budget',
  executor: 'model_budget',
  hub: 'hub_budget',
}

/** States of a gate on pages. */
export const stateNames = { open: 'open', closed: 'closed', unknown: 'unknown' } as const

export type GateState = keyof typeof stateNames

/** Labels of the pages that gates link, by the start of the path. */
const linkLabels = [
  ['/p/', 'Thread'],
  ['/a/', 'Agent'],
  ['/activations/', 'Run'],
  ['/approvals', 'Approvals'],
  ['/budgets', 'Budgets'],
  ['/scheduler', 'Scheduler'],
  ['/docs', 'Set up a model'],
] as const

/** Returns the label of a link to a page; the path itself when it has none. */
export const toLinkLabel = (link: string): string =>
  linkLabels.find(([start]) => link.startsWith(start))?.[1] ?? link.slice(1)
