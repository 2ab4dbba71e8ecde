import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import type { DefinitionFacts } from '../../../src/agents/contract/agents'
import { createHubApi } from '../../../src/hub/api/hub-api'
import { definitionLimits } from '../../../src/shared/config'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()
const files = { 'config.yaml': 'name: scout', 'system-prompt.md': 'Be kind.' }
const facts: DefinitionFacts = {
  name: 'scout',
  namePath: 'config.yaml:1:name',
  displayName: null,
  description: '',
  model: 'offline/extractive',
  isOffline: true,
  trial: null,
  trialPath: 'config.yaml:9:trial.set',
  adminFields: [],
  grants: ['hub:read'],
  answersMentions: true,
  answersReplies: true,
  answersDms: false,
  followsThreads: true,
  writing: { dailyPostsMax: 1, dailyCommentsMax: 2, responsesPerThreadMax: 3, intervalMs: 4 },
  exploration: null,
  schedules: [],
  models: ['offline/extractive'],
  readsProviders: false,
  priority: 'normal',
  activationTokensMax: 100_000,
  runCostMaxMicrousd: 0,
  durationSecondsMax: 300,
  callFloor: { microusd: 1, tokens: 2 },
  callWant: { microusd: 3, tokens: 4 },
  budget: { costPerDayMicrousd: null },
  etag: 'etag-1',
  warnings: [],
}

const put = (name = 'scout') =>
  hub.call(`/agents/${name}/definition`, { method: 'PUT', key: adminKey, body: { files } })
const accept = (change: Partial<DefinitionFacts> = {}) => {
  hub.seen.check = () => ({ ok: true, facts: { ...facts, ...change } })
}
beforeEach(() => accept())

test('D6: the limits of a definition are stored for the reply limits', async () => {
  accept({ etag: 'etag-limits' })
  const { body } = await put()
  const row = await env.DB.prepare(
    `SELECT answers_dms, daily_posts_max, daily_comments_max, responses_per_thread_max, interval_ms
     FROM agents WHERE account_id = ?`,
  )
    .bind(body.definition.agent_id)
    .first()
  expect(row).toEqual({
    answers_dms: 0,
    daily_posts_max: 1,
    daily_comments_max: 2,
    responses_per_thread_max: 3,
    interval_ms: 4,
  })
})

test('D3: a definition whose tools appear while it is saved is not warned of them', async () => {
  const countChange = () => env.DB.prepare('UPDATE tools_version SET version = version + 1').run()
  const readVersion = async () =>
    (await env.DB.prepare('SELECT version FROM tools_version').first<number>('version')) ?? 0
  const warning = { path: 'config.yaml:4:capabilities.grants.0', message: 'No effect: no tool' }
  let areThere = false
  let checks = 0
  const toolsVersion = await readVersion()
  hub.seen.check = (_files, connections) => {
    checks++
    const warnings = areThere ? [] : [warning]
    const checked = { ...facts, name: 'otter', etag: 'etag-otter', warnings }
    // what is checked again gets the connections, and its tools are those of the version before
    return { ok: true, facts: checked, ...(!connections && { toolsVersion }) }
  }
  const { keepDefinition } = hub.seen
  hub.seen.keepDefinition = async (...kept) => {
    await keepDefinition(...kept)
    areThere = true
    await countChange()
  }
  const { body } = await put('otter')
  hub.seen.keepDefinition = keepDefinition
  expect(checks).toBe(2)
  expect(body.warnings).toEqual([])
  const stored = await env.DB.prepare(
    `SELECT warnings FROM agent_definitions WHERE account_id = ? AND version = 1`,
  )
    .bind(body.definition.agent_id)
    .first('warnings')
  expect(stored).toBe('[]')
})

test('D3: warnings that were found with earlier tools replace none that were found later', async () => {
  const countChange = () => env.DB.prepare('UPDATE tools_version SET version = version + 1').run()
  const warning = { path: 'config.yaml:4:capabilities.grants.0', message: 'No effect: acme' }
  accept({ name: 'stoat', etag: 'etag-stoat', grants: ['acme:read'], warnings: [warning] })
  const saved = await put('stoat')
  expect(saved.body.warnings).toEqual([warning])
  const hubApi = createHubApi(hub.context)
  let checks = 0
  hub.seen.check = async () => {
    // tools of the server are shown between the first check and its write
    const warnings = checks++ === 0 ? [warning] : []
    if (checks === 1) await countChange()
    return { ok: true, facts: { ...facts, name: 'stoat', etag: 'etag-stoat', warnings } }
  }
  await hubApi.refreshWarnings('acme')
  expect(checks).toBe(2)
  const stored = await env.DB.prepare(
    `SELECT warnings FROM agent_definitions WHERE account_id = ? AND version = 1`,
  )
    .bind(saved.body.definition.agent_id)
    .first('warnings')
  expect(stored).toBe('[]')
})

test('D1: two concurrent first definitions create one agent with two versions', async () => {
  const keep: (() => void)[] = []
  const bothFound = new Promise<void>((resolve) => keep.push(resolve))
  let found = 0
  // Neither writes before both have found the name free.
  hub.seen.check = (given) => ({
    ok: true,
    facts: { ...facts, name: 'shared', etag: `etag-${given['system-prompt.md']}` },
  })
  const { keepDefinition } = hub.seen
  hub.seen.keepDefinition = async (...kept) => {
    await keepDefinition(...kept)
    if (++found === 2) keep[0]?.()
    await bothFound
  }
  const putShared = (prompt: string) =>
    hub.call('/agents/shared/definition', {
      method: 'PUT',
      key: adminKey,
      body: { files: { ...files, 'system-prompt.md': prompt } },
    })
  const [one, other] = await Promise.all([putShared('one'), putShared('other')])
  hub.seen.keepDefinition = keepDefinition
  expect([one.status, other.status]).toEqual([200, 200])
  expect(one.body.definition.agent_id).toBe(other.body.definition.agent_id)
  expect([one.body.definition.version, other.body.definition.version].sort()).toEqual([1, 2])
})

test('D1: an activation records the version of the definition it runs with', async () => {
  accept({ etag: 'etag-first', name: 'heron' })
  const first = await put('heron')
  const mira = await hub.join('mira', 'human')
  const ask = () =>
    hub.call('/posts', {
      key: mira.key,
      body: { community: 'general', title: 'Hello', content: '@heron hello' },
    })
  const hubApi = createHubApi(hub.context)
  await hub.createWindows()
  const agentId = first.body.definition.agent_id as AccountId
  const work = async () => {
    await ask()
    const activationId = hub.clock.newId<ActivationId>()
    const now = hub.clock.now()
    await hubApi.load({ agentId, activationId, now, capacity: 50, canExplore: false })
    await env.DB.prepare(`UPDATE activations SET state = 'done'`).run()
    return env.DB.prepare('SELECT definition_version FROM activations WHERE id = ?')
      .bind(activationId)
      .first('definition_version')
  }
  expect(await work()).toBe(1)
  accept({ etag: 'etag-second', name: 'heron' })
  await put('heron')
  expect(await work()).toBe(2)
})

/** Puts a definition whose etag tells its files apart. */
const putAs = (name: string, key: string, etag: string, more: object = {}) => {
  accept({ name, etag })
  return hub.call(`/agents/${name}/definition`, {
    method: 'PUT',
    key,
    body: { files: { ...files, 'system-prompt.md': etag }, ...more },
  })
}
const keptOf = (name: string) =>
  hub.seen.kept.filter((each) => each.name === name).map(({ etag }) => etag)

test('T14: the files of the newest versions are kept, and of older ones with the same files', async () => {
  const { versionsKept } = definitionLimits
  await putAs('keeper', adminKey, 'v1')
  const agentId = await env.DB.prepare(`SELECT id FROM accounts WHERE name = 'keeper'`).first('id')
  // As if it had been saved often: version 2 has the files of one that stays.
  await env.DB.batch(
    Array.from({ length: versionsKept - 1 }, (_, index) =>
      env.DB.prepare(
        `INSERT INTO agent_definitions (account_id, version, etag, created_at) VALUES (?, ?, ?, 0)`,
      ).bind(agentId, index + 2, index === 0 ? 'v50' : `v${index + 2}`),
    ),
  )
  hub.seen.kept.push({ name: 'keeper', etag: 'v50', files })
  await putAs('keeper', adminKey, 'next')
  expect(keptOf('keeper')).toEqual(['v50', 'next'])
  await putAs('keeper', adminKey, 'after')
  expect(keptOf('keeper')).toEqual(['v50', 'next', 'after'])
  const { body } = await hub.call('/agents/keeper/definition/versions', { key: adminKey })
  expect(body.versions).toHaveLength(versionsKept)
  const old = await hub.call('/agents/keeper/definition/restore', {
    key: adminKey,
    body: { version: 1 },
  })
  expect([old.status, old.body.hint]).toEqual([404, expect.stringContaining('newest 100 are kept')])
})

test('T14: a member saves a bounded number of versions a day, and what is refused is not stored', async () => {
  const { savesPerDay } = definitionLimits
  const member = await hub.join('hoarder', 'human')
  expect((await putAs('hoard', member.key, 'h0')).status).toBe(200)
  await env.DB.batch(
    Array.from({ length: savesPerDay - 2 }, (_, index) =>
      env.DB.prepare(
        `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at) VALUES ('gone', ?, 'e', ?, ?)`,
      ).bind(index, member.id, hub.clock.now()),
    ),
  )
  expect((await putAs('hoard', member.key, 'h1')).status).toBe(200)
  const refused = await putAs('hoard', member.key, 'h2')
  expect([refused.status, refused.body.code]).toEqual([429, 'RATE_LIMITED'])
  const refusedNew = await putAs('hoard-2', member.key, 'h3')
  expect(refusedNew.status).toBe(429)
  // The same files again are no version.
  expect((await putAs('hoard', member.key, 'h1')).status).toBe(200)
  expect(keptOf('hoard-2')).toEqual([])
  expect(keptOf('hoard')).not.toContain('h2')
  expect((await putAs('hoard', adminKey, 'h4', { base_version: 2 })).status).toBe(200)
  hub.clock.advance(24 * 60 * 60 * 1000 + 1)
  expect((await putAs('hoard', member.key, 'h5')).status).toBe(200)
})

test('T14: of two saves at once that find one left, one is refused', async () => {
  const { savesPerDay } = definitionLimits
  const member = await hub.join('racer', 'human')
  await env.DB.batch(
    Array.from({ length: savesPerDay - 1 }, (_, index) =>
      env.DB.prepare(
        `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at) VALUES ('raced', ?, 'e', ?, ?)`,
      ).bind(index, member.id, hub.clock.now()),
    ),
  )
  hub.seen.check = (given) => ({
    ok: true,
    facts: {
      ...facts,
      name: String(given['system-prompt.md']),
      etag: `etag-${given['system-prompt.md']}`,
    },
  })
  const { keepDefinition } = hub.seen
  const keep: (() => void)[] = []
  const bothFound = new Promise<void>((resolve) => keep.push(resolve))
  let found = 0
  hub.seen.keepDefinition = async (...kept) => {
    await keepDefinition(...kept)
    if (++found === 2) keep[0]?.()
    await bothFound
  }
  const putNamed = (name: string) =>
    hub.call(`/agents/${name}/definition`, {
      method: 'PUT',
      key: member.key,
      body: { files: { ...files, 'system-prompt.md': name } },
    })
  const answers = await Promise.all([putNamed('racer-one'), putNamed('racer-two')])
  hub.seen.keepDefinition = keepDefinition
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 429])
})
