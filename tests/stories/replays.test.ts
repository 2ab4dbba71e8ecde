import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { adminKey, call, createAccount, post, waitForReply, waitForValue } from '../support/cast'
import { createAgent, waitForActivation } from '../support/create-agent'

/** A run that is replayed through the whole hub, with a provider over HTTP. */
let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

const ask = async <Body>(method: string, path: string, body?: object): Promise<Body> =>
  (await call<Body>(method, `/api/v1${path}`, { key: adminKey, ...(body && { body }) })).body

/** Returns how many rows each table of the hub has. */
async function countRows(): Promise<Record<string, number>> {
  const { results } = await env.DB.prepare(
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%fts%' AND name NOT LIKE '\\_%' ESCAPE '\\'
       AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'd1%'`,
  ).all<{ name: string }>()
  const counts: Record<string, number> = {}
  for (const { name } of results) {
    counts[name] =
      (await env.DB.prepare(`SELECT count(*) AS n FROM "${name}"`).first<number>('n')) ?? 0
  }
  return counts
}

interface Lane {
  lane: string
  outcome: string
  answer: string
  incomplete: string | null
  cost_microusd: number
  calls: { tool: string; source: string; would_have: string | null }[]
}

interface Replay {
  status: string
  is_complete: boolean
  cost_microusd: number
  cost_max_microusd: number
  lanes: Lane[]
  parts_at: { step: number; reason: string } | null
  baseline_parts_at: object | null
}

const isEnded = ({ status }: Replay): boolean => !['queued', 'running'].includes(status)

async function replayRun(id: string, body: object): Promise<Replay> {
  const started = await ask<{ replay: { id: string } }>('POST', `/activations/${id}/replays`, body)
  return waitForValue(async () => {
    const { replay } = await ask<{ replay: Replay }>('GET', `/replays/${started.replay.id}`)
    return isEnded(replay) ? replay : null
  }, 'the end of the replay')
}

test('P1 P2 P3 P4 P8: a replay answers from the record and from the hub as it was, writes nothing, and costs what was promised at most', async () => {
  const about = await post(mira.key, 'Herons', 'They nest in the reeds.')
  const search = { name: 'hub_search', arguments: { query: 'herons reeds' } }
  const same = [{ calls: [search] }, { text: 'In the reeds.' }]
  // the run, then its definition again
  const agent = await createAgent('wader', [...same, ...same], {
    grants: ['hub:read', 'hub:write'],
  })
  const other = await createAgent(
    'wader-draft',
    [
      { calls: [search] },
      { calls: [{ name: 'hub_get_thread', arguments: { post_id: about } }] },
      {
        calls: [
          {
            name: 'hub_create_post',
            arguments: { community: 'general', title: 'Herons again', content: 'In the reeds.' },
          },
        ],
      },
      { text: 'In the reeds, as Mira wrote.' },
    ],
    { grants: ['hub:read', 'hub:write'] },
  )
  const asked = await post(mira.key, 'Where?', '@wader where do herons nest?')
  await waitForReply(asked, 'wader')
  const { id } = await waitForActivation(asked)
  // what came later is not in what the hub was
  await post(mira.key, 'Herons in reeds', 'They have left the reeds.')
  const { files: draft } = await ask<{ files: Record<string, string> }>(
    'GET',
    '/agents/wader-draft/definition',
  )
  const files = {
    ...draft,
    'config.yaml': draft['config.yaml']?.replace('name: wader-draft', 'name: wader'),
  }
  const before = await countRows()
  const replay = await replayRun(id, { files })
  const after = await countRows()

  expect(replay).toMatchObject({ status: 'done', is_complete: true, baseline_parts_at: null })
  const [observed, baseline, candidate] = replay.lanes
  expect(observed?.answer).toBe('In the reeds.')
  expect(baseline).toMatchObject({ outcome: 'completed', answer: 'In the reeds.' })
  expect(baseline?.calls.map(({ source }) => source)).toEqual(['record'])
  expect(candidate).toMatchObject({ outcome: 'completed', answer: 'In the reeds, as Mira wrote.' })
  expect(candidate?.calls.map(({ tool, source }) => `${tool} ${source}`)).toEqual([
    'hub_search record',
    'hub_get_thread hub',
    'hub_create_post lane',
  ])
  expect(candidate?.calls[2]?.would_have).toContain('Herons again')
  expect(replay.parts_at).toMatchObject({ step: 2, reason: 'choice' })

  const ofReplays = ['activation_traces', 'replay_lanes', 'replays', 'usage_days', 'usage_events']
  const changed = Object.keys(after).filter((name) => after[name] !== before[name])
  expect(changed.filter((name) => !ofReplays.includes(name) && !ofRequests.includes(name))).toEqual(
    [],
  )
  const texts = await agent.requests()
  expect(JSON.stringify(texts.at(-1)?.body)).not.toContain('They have left')
  expect(JSON.stringify((await other.requests()).at(-1)?.body)).not.toContain('They have left')

  const spent = replay.lanes.slice(1).reduce((sum, lane) => sum + lane.cost_microusd, 0)
  expect(spent).toBeGreaterThan(0)
  expect(replay.cost_microusd).toBe(spent)
  expect(replay.cost_max_microusd).toBeGreaterThanOrEqual(spent)
  const charged = await env.DB.prepare(
    `SELECT coalesce(sum(cost_microusd), 0) AS n FROM usage_events WHERE task = 'replay'`,
  ).first<number>('n')
  expect(charged).toBe(spent)
  const { budgets } = await ask<{ budgets: { scope: string; spent_microusd: number }[] }>(
    'GET',
    '/budgets',
  )
  expect(budgets.find(({ scope }) => scope === 'replay')?.spent_microusd).toBe(spent)
  const { differences } = await ask<{ differences: unknown[] }>('GET', '/budgets/audit')
  expect(differences).toEqual([])
})

/** What the requests of the test itself store. */
const ofRequests = ['idempotency_keys', 'key_uses']
