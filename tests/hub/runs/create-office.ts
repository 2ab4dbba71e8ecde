import { env } from 'cloudflare:workers'
import { createHubApi } from '../../../src/hub/api/hub-api'
import type { CommitRequest, LoadResult, RenewRequest, Usage } from '../../../src/hub/contract/hub'
import { createContext } from '../../../src/hub/database/action-context'
import type { AccountId, ActivationId, CommentId, PostId } from '../../../src/shared/ids'
import { createTestHub } from '../create-test-hub'

export interface Rates {
  floor?: number
  want?: number
  floorTokens?: number
  wantTokens?: number
}

/** A hub with hosted agents on the real D1 of the test, and short words for what happens in it. */
export function createOffice(settings: Record<string, string> = {}) {
  const hub = createTestHub(settings)
  const contexts: ReturnType<typeof hub.context>[] = []
  const hubApi = createHubApi(() => {
    const context = hub.context()
    contexts.push(context)
    return context
  })
  const run = (sql: string, ...values: unknown[]) =>
    env.DB.prepare(sql)
      .bind(...values)
      .run()
  const first = <Row = Record<string, unknown>>(sql: string, ...values: unknown[]) =>
    env.DB.prepare(sql)
      .bind(...values)
      .first<Row>()
  const all = async <Row = Record<string, unknown>>(sql: string, ...values: unknown[]) =>
    (
      await env.DB.prepare(sql)
        .bind(...values)
        .all<Row>()
    ).results

  /** Counts the round trips of the API calls in `work`. */
  const countTrips = async (work: () => Promise<unknown>): Promise<number> => {
    contexts.length = 0
    await work()
    return contexts.reduce((sum, { db }) => sum + db.cost.roundTrips, 0)
  }

  /** A hosted agent whose calls cost this at least and at most, in micro-dollars and tokens. */
  const createAgent = async (name: string, rates: Rates = {}) => {
    const account = await hub.join(name)
    await hub.host(account.id)
    const { floor = 10, want = 100, floorTokens = 1, wantTokens = 10 } = rates
    await run(
      `UPDATE agents SET call_floor_microusd = ?2, call_want_microusd = ?3, call_floor_tokens = ?4,
         call_want_tokens = ?5 WHERE account_id = ?1`,
      account.id,
      floor,
      want,
      floorTokens,
      wantTokens,
    )
    return account
  }

  const newId = <Id extends string>() => hub.clock.newId<Id>()

  /** A post or comment through the API; gives the id of what was written. */
  const post = async (key: string, content: string): Promise<PostId> => {
    hub.clock.advance(1)
    const { body, status } = await hub.call('/posts', {
      key,
      body: { community: 'general', title: 'A question', content },
    })
    if (status !== 201) throw new Error(JSON.stringify(body))
    return body.post.id
  }
  const comment = async (key: string, postId: PostId, content: string, parentId?: CommentId) => {
    hub.clock.advance(1)
    const { body, status } = await hub.call(`/posts/${postId}/comments`, {
      key,
      body: { content, parent_id: parentId ?? null },
    })
    if (status !== 201) throw new Error(JSON.stringify(body))
    return body.comment.id as CommentId
  }

  let hasWindows = false
  const load = async (
    agentId: AccountId,
    activationId = newId<ActivationId>(),
    capacity = 50,
    canExplore = false,
  ) => {
    if (!hasWindows) await hub.createWindows()
    hasWindows = true
    return hubApi.load({ agentId, activationId, now: hub.clock.now(), capacity, canExplore })
  }

  /** LOAD that must succeed. */
  const start = async (agentId: AccountId, activationId = newId<ActivationId>()) => {
    const answer = await load(agentId, activationId)
    if (answer.kind !== 'loaded') throw new Error(`not loaded: ${JSON.stringify(answer)}`)
    return { ...answer, activationId }
  }

  const renew = (agentId: AccountId, activationId: ActivationId, money: RenewMoney = {}) => {
    const { spent = 0, want = 100, floor = 10 } = money
    const tokens = (micro: number) => Math.ceil(micro / 10)
    return hubApi.renew({
      agentId,
      activationId,
      now: hub.clock.now(),
      spent: { microusd: spent, tokens: tokens(spent) },
      want: { microusd: want, tokens: tokens(want) },
      floor: { microusd: floor, tokens: 1 },
    } satisfies RenewRequest)
  }

  const composeCommit = (
    agentId: AccountId,
    activationId: ActivationId,
    fields: Partial<CommitRequest> = {},
  ): CommitRequest => ({
    agentId,
    activationId,
    now: hub.clock.now(),
    outcome: 'completed',
    hasReadUntrusted: false,
    error: null,
    reply: null,
    report: null,
    iterations: 1,
    usage: [usageOf(30, 3)],
    tools: ['hub_search'],
    audit: [],
    trace: '{"version":1,"steps":[]}',
    model: 'test/model',
    ...fields,
  })
  const commit = (
    agentId: AccountId,
    activationId: ActivationId,
    fields: Partial<CommitRequest> = {},
  ) => hubApi.commit(composeCommit(agentId, activationId, fields))

  const setHubLimit = (microusd: number | null, tokens: number | null = null) =>
    run(
      `UPDATE budgets SET limit_microusd = ?, limit_tokens = ? WHERE scope = 'hub'`,
      microusd,
      tokens,
    )
  const setSpent = (microusd: number) =>
    run(
      `UPDATE budget_windows SET spent_microusd = ? WHERE budget_id IN (SELECT id FROM budgets WHERE scope = 'hub')`,
      microusd,
    )

  /** Ends all activations and deletes all spending, so that the next test starts clean. */
  const clear = async () => {
    await env.DB.batch([
      env.DB.prepare(
        `UPDATE activations SET state = 'done', reserved_microusd = 0, reserved_tokens = 0`,
      ),
      env.DB.prepare('UPDATE inbox_items SET read_at = 1 WHERE read_at IS NULL'),
      env.DB.prepare('UPDATE budget_windows SET spent_microusd = 0, spent_tokens = 0'),
      env.DB.prepare('DELETE FROM usage_events'),
      env.DB.prepare('DELETE FROM usage_days'),
      env.DB.prepare(`DELETE FROM settings WHERE key = 'paused'`),
      env.DB.prepare(`DELETE FROM budgets WHERE scope = 'agent'`),
    ])
    await setHubLimit(20_000_000)
  }

  const activation = (id: ActivationId) =>
    first<ActivationRow>('SELECT * FROM activations WHERE id = ?', id)
  const inbox = (accountId: AccountId) =>
    all<ItemRow>(
      'SELECT * FROM inbox_items WHERE account_id = ? ORDER BY created_at, id',
      accountId,
    )

  const context = () => createContext({ ...hub.context(), binding: env.DB }, () => {})
  return {
    hub,
    hubApi,
    run,
    first,
    all,
    countTrips,
    createAgent,
    newId,
    post,
    comment,
    load,
    start,
    renew,
    composeCommit,
    commit,
    setHubLimit,
    setSpent,
    clear,
    activation,
    inbox,
    context,
  }
}

export type Started = Extract<LoadResult, { kind: 'loaded' }> & { activationId: ActivationId }

interface RenewMoney {
  spent?: number
  want?: number
  floor?: number
}

export interface ActivationRow {
  state: string
  outcome: string | null
  reserved_microusd: number
  reserved_tokens: number
  cost_microusd: number
  settled_microusd: number
  settled_tokens: number
  class: string
  task: string
  model: string
  post_id: string | null
  reply_comment_id: string | null
  reply_refusal: string | null
  admission: string
}

export interface ItemRow {
  id: string
  type: string
  post_id: string
  comment_id: string | null
  claimed_by: string | null
  read_at: number | null
  refusal: string | null
  content: string
  is_task: number
}

export const usageOf = (costMicrousd: number, tokens: number, call = 1): Usage => ({
  call,
  model: 'test/model',
  inputTokens: tokens,
  cachedTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  costMicrousd,
  isPriced: true,
  isEstimated: false,
  durationMs: 5,
  at: 0,
})
