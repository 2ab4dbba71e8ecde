import { expect } from 'vitest'
import type { AccountId, CommentId, PostId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

export const office = createOffice()
const { hub } = office
/** The number of cases so far, for names. */
export const counter = { count: 0 }

interface Gate {
  gate: string
  state: string
  says: string
  fix: string | null
}

/** Asks why an agent is quiet. */
export const ask = async (name: string, postId = '', key: string | null = adminKey) => {
  const answer = await hub.call(`/agents/${name}/why-quiet?post=${postId}`, { key })
  const gates = (answer.body.gates ?? []) as Gate[]
  return { ...answer, gates, closed: gates.flatMap((g) => (g.state === 'closed' ? [g.gate] : [])) }
}

/** A person and an agent that the person has just mentioned in a thread. */
export async function createCase(content = (name: string) => `@${name} why?`) {
  const suffix = `${++counter.count}`
  const mira = await hub.join(`mira-${suffix}`, 'human')
  const scout = await office.createAgent(`scout-${suffix}`)
  const postId = await office.post(mira.key, content(scout.name))
  return { mira, scout, postId }
}
type Case = Awaited<ReturnType<typeof createCase>>

export const createBudget = async (fields: Record<string, unknown>) => {
  const { status, body } = await hub.call('/budgets', {
    key: adminKey,
    body: { period: 'day', limit_microusd: 5, ...fields },
  })
  expect(status, JSON.stringify(body)).toBe(201)
}

/** The reply of a run that has begun. */
export const reply = (
  agentId: AccountId,
  started: Awaited<ReturnType<typeof office.start>>,
  text: string,
) =>
  office.commit(agentId, started.activationId, {
    reply: {
      id: office.newId<CommentId>(),
      postId: started.thread?.post.id as PostId,
      parentId: null,
      content: text,
      requesters: [],
    },
  })

interface Row {
  gate: string
  close(scene: Case): Promise<unknown>
  /** What LOAD answers then. */
  load: Record<string, unknown>
}

const restrict = (account: string, kind: string, community: string | null) =>
  office.run(
    `INSERT INTO bans (id, account_id, community_id, kind, reason, created_by, created_at) VALUES (?1, ?2, ?3, ?4, 'Loud', ?2, 1)`,
    hub.clock.newId(),
    account,
    community,
    kind,
  )

/** Each gate that can be closed by itself, and how. */
export const rows: Row[] = [
  {
    gate: 'answered',
    close: async ({ scout }) => reply(scout.id, await office.start(scout.id), 'Done.'),
    load: { kind: 'nothing' },
  },
  {
    gate: 'requester',
    close: ({ mira }) => office.run('UPDATE accounts SET disabled_at = 1 WHERE id = ?', mira.id),
    load: { kind: 'nothing' },
  },
  {
    gate: 'requester',
    close: ({ mira }) => restrict(mira.id, 'mute', null),
    load: { kind: 'nothing' },
  },
  {
    gate: 'requester',
    close: async ({ mira }) => {
      const general = await office.first<{ id: string }>(
        `SELECT id FROM communities WHERE name = 'general'`,
      )
      return restrict(mira.id, 'ban', general?.id ?? '')
    },
    load: { kind: 'nothing' },
  },
  {
    gate: 'account',
    close: ({ scout }) => office.run('UPDATE accounts SET disabled_at = 1 WHERE id = ?', scout.id),
    load: { kind: 'paused' },
  },
  {
    gate: 'agent_pause',
    close: ({ scout }) =>
      office.run('UPDATE agents SET is_paused = 1 WHERE account_id = ?', scout.id),
    load: { kind: 'paused' },
  },
  {
    gate: 'hub_pause',
    close: () =>
      office.run(`INSERT INTO settings (key, value, updated_at) VALUES ('paused', 'true', 1)`),
    load: { kind: 'paused' },
  },
  {
    gate: 'provider',
    close: async ({ scout }) => {
      await office.run(
        `INSERT INTO provider_outages (address, started_at, due_at, attempts) VALUES ('http://p', 1, ?, 1)`,
        hub.clock.now() + 60_000,
      )
      await office.run(
        `INSERT INTO outage_waits (agent_id, activation_id, address, since) VALUES (?, 'x', 'http://p', 1)`,
        scout.id,
      )
    },
    load: { kind: 'paused' },
  },
  {
    gate: 'approval',
    close: async ({ scout }) => {
      const { activationId } = await office.start(scout.id)
      await office.run(
        `UPDATE activations SET state = 'parked', reserved_microusd = 0, reserved_tokens = 0 WHERE id = ?`,
        activationId,
      )
      await office.run(
        `INSERT INTO approvals (id, account_id, activation_id, call_id, tool, "grant", tier, arguments,
           arguments_hash, created_at, expires_at)
         VALUES (?1, ?2, ?3, 'c', 'hub_create_post', 'hub:write', 'write', '{}', 'h', 0, 1)`,
        `${activationId}:c`,
        scout.id,
        activationId,
      )
    },
    load: { kind: 'nothing' },
  },
  {
    gate: 'requester_budget',
    close: ({ mira }) => createBudget({ scope: 'requester', name: mira.name }),
    load: { kind: 'loaded', admission: 'budget_exhausted' },
  },
  {
    gate: 'agent_budget',
    close: ({ scout }) => createBudget({ scope: 'agent', name: scout.name }),
    load: { kind: 'loaded', admission: 'budget_exhausted' },
  },
  {
    gate: 'community_budget',
    close: () => createBudget({ scope: 'community', name: 'general' }),
    load: { kind: 'loaded', admission: 'budget_exhausted' },
  },
  {
    gate: 'model_budget',
    close: () => createBudget({ scope: 'provider', name: 'offline' }),
    load: { kind: 'loaded', admission: 'budget_exhausted' },
  },
  {
    gate: 'hub_budget',
    close: () => office.setHubLimit(5),
    load: { kind: 'loaded', admission: 'budget_exhausted' },
  },
  {
    gate: 'reserved',
    close: async () => {
      await office.setHubLimit(150)
      const other = await createCase()
      await office.run(
        'UPDATE agents SET call_want_microusd = 145 WHERE account_id = ?',
        other.scout.id,
      )
      await office.start(other.scout.id)
    },
    load: { kind: 'wait', reason: 'money_reserved' },
  },
  {
    gate: 'capacity',
    close: async () => {
      for (let slot = 0; slot < 10; slot++) await office.start((await createCase()).scout.id)
    },
    load: { kind: 'wait', reason: 'capacity' },
  },
]
