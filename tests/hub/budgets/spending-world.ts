import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import { setDefinitionBudget } from '../../../src/hub/budgets/actions'
import type { BudgetStatus } from '../../../src/hub/contract/hub'
import { batch } from '../../../src/shared/db/batch'
import type { AccountId, PostId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

/** Models by agent: every third agent has models of two providers. */
const modelsOf = (index: number): string[] =>
  [['near/a'], ['near/b'], ['near/a', 'far/c']][index % 3] ?? []

const scopes = [
  { scope: 'hub', period: 'day' },
  { scope: 'model', name: 'near/a', period: 'day' },
  { scope: 'model', name: 'far/c', period: 'day' },
  { scope: 'provider', name: 'near', period: 'week' },
  { scope: 'community', name: 'general', period: 'day' },
  { scope: 'agent', name: 'flock-0', period: 'month' },
]

/** The kinds of limits of a budget. */
export const kinds = ['microusd', 'tokens'] as const
export type Kind = (typeof kinds)[number]
/** Null is no limit. */
export type Limits = Record<Kind, number | null>

interface Budget {
  id: string
  scope: BudgetStatus['scope']
  scopeId: string
}

/** A budget with its window at a given time. */
export type Held = Budget & Record<`limit_${Kind}` | `spent_${Kind}`, number | null>

/** A running activation: what it has reserved, and how much of that it has used. */
type RunningRow = Record<`reserved_${Kind}` | `used_${Kind}`, number> & {
  id: string
  agentId: string
  communityId: string | null
  models: string
}

/** Whether a budget pays for a call, computed independently of the product's SQL. */
export function pays(
  { scope, scopeId }: Budget,
  by: {
    agentId: string
    communityId: string | null
    models: string[]
    requesters?: string[]
    isReplay?: boolean
  },
): boolean {
  const payers: Record<Budget['scope'], string[]> = {
    hub: [''],
    agent: [by.agentId],
    community: by.communityId === null ? [] : [by.communityId],
    model: by.models,
    requester: by.requesters ?? [],
    guests: [],
    replay: by.isReplay ? [''] : [],
    'role:member': [],
    'role:guest': [],
    provider: by.models.map((model) => model.slice(0, model.indexOf('/'))),
  }
  return payers[scope].includes(scopeId)
}

/** Creates a hub with many agents, two communities and overlapping budgets. */
export async function createSpendingWorld(size: number) {
  const office = createOffice()
  const { hub, hubApi } = office
  const ada = await hub.join('ada', 'human')
  await hub.call('/communities', { key: ada.key, body: { name: 'other', display_name: 'Other' } })
  const ids = Array.from({ length: size }, () => office.newId<AccountId>())
  const flock = ids.map((id, index) => ({ id, name: `flock-${index}`, models: modelsOf(index) }))
  const list = JSON.stringify(flock)
  await office.run(
    `INSERT INTO accounts (id, name, kind, created_at)
     SELECT value ->> 'id', value ->> 'name', 'agent', 0 FROM json_each(?)`,
    list,
  )
  await office.run(
    `INSERT INTO agents (account_id, definition_version, definition_etag, model, models, call_floor_microusd,
       call_want_microusd, call_floor_tokens, call_want_tokens, updated_at)
     SELECT value ->> 'id', 1, 'etag', value ->> '$.models[0]', value -> 'models', 10, 100, 1, 10, 0 FROM json_each(?)`,
    list,
  )
  const postIn = async (community: string): Promise<PostId> => {
    const body = { community, title: 'All of you', content: 'Please.' }
    return (await hub.call('/posts', { key: ada.key, body })).body.post.id
  }
  const posts = [await postIn('general'), await postIn('other')]
  const communities = await office.all<{ id: string; post: string }>(
    'SELECT community_id AS id, id AS post FROM posts',
  )
  const communityOf = (post: string | undefined) =>
    communities.find((each) => each.post === post)?.id ?? null

  for (const scope of scopes) {
    const { status } = await hub.call('/budgets', { key: adminKey, body: scope })
    expect(status).toBe(201)
  }
  const { db } = office.context()
  const own = flock.slice(0, 20)
  await batch(db, {
    own: own.flatMap(({ id }) => setDefinitionBudget(id, 0, hub.clock.now())),
  })

  /** Returns budgets and running activations from one batch, at a given time. */
  const look = async (at: number) => {
    const [budgets, running] = await env.DB.batch<unknown>([
      env.DB.prepare(
        `SELECT b.id, b.scope, b.scope_id AS scopeId, b.limit_microusd, b.limit_tokens,
           w.spent_microusd, w.spent_tokens
         FROM budgets b LEFT JOIN budget_windows w ON w.budget_id = b.id AND w.starts_at <= ?1 AND w.ends_at > ?1`,
      ).bind(at),
      env.DB.prepare(
        `SELECT id, agent_id AS agentId, community_id AS communityId, models, reserved_microusd,
           reserved_tokens, cost_microusd AS used_microusd, input_tokens AS used_tokens FROM activations WHERE state = 'running'`,
      ),
    ])
    const rows = (running?.results ?? []) as RunningRow[]
    return {
      budgets: (budgets?.results ?? []) as Held[],
      running: rows.map((row) => ({ ...row, models: JSON.parse(row.models) as string[] })),
    }
  }

  /** Sets limits in the order of the budgets. */
  const setLimits = (limits: Limits[]) =>
    office.run(
      `UPDATE budgets SET (limit_microusd, limit_tokens) =
         (SELECT l.value ->> 'microusd', l.value ->> 'tokens' FROM json_each(?1) l
           WHERE l.key = (SELECT count(*) FROM budgets o WHERE o.id < budgets.id) % json_array_length(?1))`,
      JSON.stringify(limits),
    )

  /** Gives each of the first so many agents a task. */
  const giveTasks = (count: number) => {
    const tasks = flock
      .slice(0, count)
      .map(({ id }, index) => ({ id: office.newId(), to: id, post: posts[index % 2] }))
    return office.run(
      `INSERT INTO inbox_items (id, account_id, type, post_id, from_account_id, created_at, is_task)
       SELECT value ->> 'id', value ->> 'to', 'mention', value ->> 'post', ?2, ?1, 1 FROM json_each(?3)`,
      hub.clock.now(),
      ada.id,
      JSON.stringify(tasks),
    )
  }

  /** Ends all running activations and deletes all usage. */
  const clear = () =>
    env.DB.batch(
      [
        `UPDATE activations SET state = 'done', reserved_microusd = 0, reserved_tokens = 0 WHERE state <> 'done'`,
        'UPDATE inbox_items SET read_at = 1 WHERE read_at IS NULL',
        'DELETE FROM usage_events',
        'UPDATE budget_windows SET spent_microusd = 0, spent_tokens = 0',
      ].map((sql) => env.DB.prepare(sql)),
    )

  return { office, hub, hubApi, flock, posts, communityOf, look, setLimits, giveTasks, clear }
}

export type SpendingWorld = Awaited<ReturnType<typeof createSpendingWorld>>
