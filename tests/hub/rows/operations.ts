import { createConversationApi, createHubApi } from '../../../src/hub/api/hub-api'
import type { HubApi } from '../../../src/hub/contract/hub'
import { apiBase } from '../../../src/hub/http/mount-routes'
import type { AccountId, ActivationId, CommentId, PostId } from '../../../src/shared/ids'
import { apiTable } from '../access/api-table'
import { type Row, readCell, readName, type Table } from '../access/cells'
import type { World } from '../access/create-world'
import { pageTable } from '../access/page-table'
import type { Member } from '../access/requesters'
import { readCost } from '../create-test-hub'
import { usageOf } from '../runs/create-office'

/** What one operation reads; null if its answer does not say, because it does not use the database. */
export interface Operation {
  name: string
  run(): Promise<{ rowsRead: number; roundTrips: number } | null>
}

/** Every GET of a table that an owner of things, or else an admin, is answered. */
const listReads = (world: World, table: Table, base: string): Operation[] =>
  Object.entries(table)
    .filter(([name]) => name.startsWith('GET ') && !isOfOthers(name))
    .map(([name, row]) => ({ name, run: () => read(world, name, row, base) }))

/** Pages of credentials, remote servers and connected accounts are of the whole Worker; sockets have no answer to read. */
const isOfOthers = (name: string) =>
  /^GET \/(credentials|models|tools\/remote|settings\/connections|connect|live)\b/.test(name)

async function read(world: World, name: string, row: Row, base: string) {
  const column = readCell(row, 'owner') === '+' ? 'owner' : 'admin'
  if (readCell(row, column) !== '+') return null
  const sent = (await row.send?.(world, column)) ?? {}
  const owner = row.owner ?? 'olga'
  const identity = base
    ? world.requesters.toHeaders(column, owner)
    : await world.requesters.toBrowserHeaders(column, owner, row.endsSession)
  const request = new Request(`http://hub.test${base}${sent.path ?? readName(name).path}`, {
    redirect: 'manual',
    headers: { ...sent.headers, ...identity },
  })
  const { headers, status } = await world.fetchHub(request, true)
  if (status >= 400) throw new Error(`${name}: ${status}`)
  const cost = readCost(headers)
  return Number.isNaN(cost.rowsRead) ? null : cost
}

/** What the tools of the hub read. */
function listTools({ hub, scout, postId }: World): Operation[] {
  const actor = {
    accountId: scout.id,
    name: scout.name,
    kind: 'agent',
    postId: null,
    activationId: null,
    idempotencyKey: null,
  } as const
  type Api = ReturnType<typeof createConversationApi>
  const of = (name: string, call: (api: Api) => Promise<unknown>): Operation => ({
    name: `tool ${name}`,
    run: async () => {
      const context = hub.context()
      await call(createConversationApi(() => context))
      return context.db.cost
    },
  })
  const search = (text: string) => (api: Api) => api.search(actor, { text, match: 'any', limit: 8 })
  return [
    of('hub_search, a rare word', search('lantern')),
    of('hub_search, common words', search('notes of this day')),
    of('hub_get_thread', (api) => api.readThread(actor, postId as never, 50)),
    of('hub_get_feed', (api) => api.readFeed(actor, { sort: 'hot', limit: 10 })),
    of('hub_discover', (api) =>
      api.discover(actor, { communities: [], keywords: ['lantern'], ageMsMax: 6e8, limit: 10 }),
    ),
    of('hub_get_notifications', (api) => api.readInbox(actor, 10)),
    of('hub_get_profile', (api) => api.readProfile(actor, 'olga')),
    of('hub_budget_status', (api) => api.readBudgets(actor)),
  ]
}

/** A post that mentions an agent, the run that answers it, and the sweep that finds what was missed. */
function listActivation(world: World, robin: Member): Operation[] {
  const { hub, olga } = world
  const activationId = hub.clock.newId<ActivationId>()
  const of = (name: string, call: (api: HubApi) => Promise<unknown>): Operation => ({
    name,
    run: async () => {
      const context = hub.context()
      await call(createHubApi(() => context))
      return context.db.cost
    },
  })
  let postId: PostId
  const agentId = robin.id as AccountId
  const money = { microusd: 10, tokens: 1 }
  return [
    {
      name: 'POST /posts, with a mention',
      run: async () => {
        hub.clock.advance(600_000)
        const body = { community: 'general', title: 'A question', content: '@robin what is new?' }
        const { headers, status, ...answer } = await hub.call('/posts', { key: olga.key, body })
        if (status !== 201) throw new Error(`POST /posts: ${status}`)
        postId = answer.body.post.id
        return readCost(headers)
      },
    },
    of('run: load', async (api) => {
      const request = { agentId, activationId, now: hub.clock.now(), capacity: 1e6 }
      const { kind } = await api.load({ ...request, canExplore: false })
      if (kind !== 'loaded') throw new Error(`load: ${kind}`)
    }),
    of('run: renew', (api) => {
      const spent = { spent: money, want: money, floor: money }
      return api.renew({ agentId, activationId, now: hub.clock.now(), ...spent })
    }),
    of('run: commit', (api) =>
      api.commit({
        agentId,
        activationId,
        now: hub.clock.now(),
        outcome: 'completed',
        hasReadUntrusted: false,
        error: null,
        report: null,
        iterations: 1,
        usage: [usageOf(30, 3)],
        tools: ['hub_search'],
        audit: [],
        model: 'test/model',
        trace: '{"version":1,"steps":[]}',
        reply: { id: hub.clock.newId<CommentId>(), postId, parentId: null, content: 'Done.' },
      }),
    ),
    of('sweep', (api) => api.sweep(hub.clock.now())),
  ]
}

export const listOperations = (world: World, robin: Member): Operation[] => [
  ...listReads(world, apiTable, apiBase),
  ...listReads(world, pageTable, ''),
  ...listTools(world),
  ...listActivation(world, robin),
]
