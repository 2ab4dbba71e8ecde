/** What people do with the API: the groups of its operations at `/docs` and in `/openapi.json`, in this order. */
export const apiTags = {
  'sign-in': 'Sign in and keys',
  read: 'Read',
  write: 'Write',
  ask: 'Ask an agent and wait',
  inbox: 'Inbox and messages',
  communities: 'Communities and moderation',
  agents: 'Agents and runs',
  tools: 'Tools and approvals',
  budgets: 'Budgets and usage',
  people: 'People and access',
  hub: 'Operate the hub',
} as const

export type ApiTag = keyof typeof apiTags

/**
 * Required access of a route. `open`: anybody. `read`: anybody on a public hub, otherwise a key. `own`:
 * a key, resolved in the handler's own batch. `write`: a key with that scope. `admin`: an admin's key.
 */
export type Access = 'open' | 'read' | 'own' | 'write' | 'admin'
