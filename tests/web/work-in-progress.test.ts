import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import type { RunEvent } from '../../src/agents/run/run-event'
import { adminKey } from '../hub/create-test-hub'
import { answered, charge, requested, returned, toStoredLog, woken } from '../support/run-log'
import { createBrowser, createScene, logOf, signIn } from './open-pages'

/** Pages of activations that are not finished, and of a trace with everything in it. */
const scene = await createScene()
const { hub, mira, scout, postId } = scene
const [admin, requester, stranger] = [
  await signIn(hub),
  await signIn(hub, mira.key),
  createBrowser(hub),
]
let id = ''

async function insert(state: 'running' | 'parked'): Promise<void> {
  id = hub.clock.newId<string>()
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO activations (id, agent_id, class, task, state, admission, post_id, model,
         definition_version, started_at, deadline_at)
       VALUES (?1, ?2, 'inbox', 'mention', ?3, 'granted', ?4, 'offline/extractive', 1, ?5, ?5)`,
    ).bind(id, scout.id, state, postId, hub.clock.now()),
    env.DB.prepare('UPDATE inbox_items SET claimed_by = ? WHERE account_id = ?').bind(id, scout.id),
  ])
}

beforeEach(async () => {
  await env.DB.prepare("DELETE FROM activations WHERE state <> 'done'").run()
})

test('L30: a run that requires approval is shown in the thread, with a link to decide for an admin', async () => {
  await insert('parked')
  await env.DB.prepare(
    `INSERT INTO approvals (id, account_id, activation_id, call_id, tool, "grant", tier, arguments,
       arguments_hash, created_at, expires_at)
     VALUES (?1, ?2, ?3, 'c', 'hub_create_post', 'hub:write', 'write', '{}', 'h', 0, 1)`,
  )
    .bind(`${id}:c`, scout.id, id)
    .run()
  for (const path of [`/p/${postId}`, `/activations/${id}`]) {
    const seen = await admin.read(path)
    expect(seen, path).toContain(`${scout.name} is waiting for approval to use hub.create_post`)
    expect(seen, path).toContain('href="/approvals"')
    expect(seen, path).toContain(`action="/activations/${id}/stop"`)
    const strange = await stranger.read(path)
    expect(strange, path).toContain('is waiting for approval')
    expect(strange, path).not.toContain('href="/approvals">See')
    expect(strange, path).not.toContain('/stop"')
    expect(await requester.read(path), path).toContain(`action="/activations/${id}/stop"`)
  }
  const thread = await stranger.read(`/p/${postId}`)
  expect(thread).not.toContain(`data-activation="${id}"`)
  expect(thread).toContain('1 waiting')
  expect(await stranger.read(`/activations/${id}`)).toContain(`${scout.name} is waiting</h1>`)
})

test('L22: a run in a thread has an element for its text, which is streamed while it is running', async () => {
  await insert('running')
  const thread = await stranger.read(`/p/${postId}`)
  expect(thread).toMatch(new RegExp(`data-activation="${id}".*data-words="true" hidden`))
  hub.seen.readRunLog = async () => toStoredLog([woken(id, hub.clock.now())])
  for (const [reader, view] of [
    [admin, 'full'],
    [stranger, 'thread'],
  ] as const) {
    expect(await reader.read(`/activations/${id}`)).toMatch(
      new RegExp(`data-running.*data-activation="${id}" data-view="${view}" data-seq="1"`),
    )
  }
})

test('L22: without scripts the thread shows how far a run is, as far as the viewer may see it', async () => {
  await insert('running')
  await env.DB.prepare(
    'UPDATE activations SET cost_microusd = 4200, settled_microusd = 800 WHERE id = ?',
  )
    .bind(id)
    .run()
  const step = (title: string, status: 'completed' | 'running') => ({
    callId: null,
    title,
    status,
    output: null,
    reason: null,
  })
  const call = { ...step('hub_search', 'running'), callId: 'c' }
  const planOf = (...titles: [string, string]) => ({
    goal: null,
    steps: [step(titles[0], 'completed'), step(titles[1], 'running'), call],
    progress: 0.5,
  })
  const { agents } = hub.context()
  const asleep = agents.readState
  agents.readState = async () => ({
    state: 'working',
    activationId: id as never,
    doing: 'writing',
    reason: null,
    nextAt: null,
    plan: planOf('Find <both>', 'Read them'),
    publicPlan: planOf('', ''),
    text: 'Twice **a day**.\n\n<img src=x onerror=alert(1)>',
  })
  const path = `/p/${postId}`
  const own = (await admin.read(path)).replaceAll('\u00a0', ' ')
  expect(own).toContain(`${scout.name} is writing`)
  expect(own).toContain('<summary>2 of 2: Read them</summary>')
  expect(own).toMatch(
    /<li>Find &lt;both&gt; <span>done<\/span><\/li><li>Read them <span>in progress/,
  )
  const strange = (await stranger.read(path)).replaceAll('\u00a0', ' ')
  expect(strange).toContain('<summary>2 of 2 steps</summary>')
  expect(strange).not.toMatch(/Find &lt;both|Read them/)
  for (const html of [own, strange]) {
    expect(html).toContain('$0.005 so far')
    expect(html).toContain('<p>Twice <strong>a day</strong>.</p>')
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;')
    expect(html).not.toContain('usually')
  }
  await env.DB.prepare('UPDATE activations SET uses_own_account = 1 WHERE id = ?').bind(id).run()
  expect(await stranger.read(path)).not.toContain('Twice')
  agents.readState = async () => {
    throw new Error('The agent does not answer.')
  }
  expect(await stranger.read(path)).toContain(`${scout.name} is working on an answer`)
  agents.readState = asleep
})

test('L22: what is usual is the median of the last answers that the viewer reads, from three on', async () => {
  await insert('running')
  await hub.call('/communities', {
    key: adminKey,
    body: { name: 'closed', display_name: 'Closed', visibility: 'private' },
  })
  const add = (seconds: number, costMicrousd: number, of: Record<string, string | null> = {}) =>
    env.DB.prepare(
      `INSERT INTO activations (id, agent_id, class, task, state, outcome, admission, post_id, model, definition_version,
         started_at, deadline_at, finished_at, cost_microusd, community_id)
       VALUES (?1, ?2, 'inbox', ?3, 'done', ?4, 'granted', ?5, 'm', 1, ?6, 0, ?6 + ?7, ?8, ?9)`,
    )
      .bind(
        hub.clock.newId<string>(),
        scout.id,
        of.task ?? 'mention',
        of.outcome ?? 'completed',
        postId,
        hub.clock.now(),
        seconds * 1_000,
        costMicrousd,
        of.community ?? null,
      )
      .run()
  await env.DB.prepare("DELETE FROM activations WHERE state = 'done' AND agent_id = ?")
    .bind(scout.id)
    .run()
  const usual = async (browser = stranger) =>
    /usually [^<]*/.exec((await browser.read(`/p/${postId}`)).replaceAll('\u00a0', ' '))?.[0]
  await add(20, 10_000)
  await add(30, 12_000)
  await add(900, 1, { outcome: 'failed' })
  await add(900, 1, { task: 'exploration' })
  const closed = await env.DB.prepare("SELECT id FROM communities WHERE name = 'closed'").first<{
    id: string
  }>()
  await add(10, 500_000, { community: closed?.id ?? '' })
  expect(await usual()).toBeUndefined()
  expect(await usual(admin)).toBe('usually 20 s, $0.012')
  await add(26, 11_000)
  expect(await usual()).toBe('usually 26 s, $0.011')
})

test('L33 L41 L42: plan, events, summaries, waits and hooks of a trace are on its page', async () => {
  await insert('running')
  const now = hub.clock.now()
  const [first, second, search, found, last] = logOf(id, scout.name, now)
  if (found?.type !== 'tool_returned' || search?.type !== 'model_answered') throw new Error()
  if (!first || !second || !last) throw new Error()
  const hook = { hook: 'no-secrets', point: 'beforeToolCall', ms: 3, outcome: 'denied' } as const
  const input = { messages: 3, chars: 900, tokens: 225, prefixShare: 0.97 }
  const decision = { callId: 'c', decision: 'denied', by: 'mira', note: 'not now' } as const
  const planCalls = [requested('p', 'memory_update_plan')]
  hub.seen.readRunLog = async () =>
    toStoredLog([
      first,
      second,
      { ...search, input, hooks: [hook], calls: [...search.calls, ...planCalls] },
      { ...found, isError: true, text: 'Nothing <b>there</b>.' },
      returned('p', {
        at: now + 6_490,
        startedAt: now + 6_480,
        name: 'memory_update_plan',
        plan: {
          goal: 'Find the <b>cause</b>',
          steps: [{ title: 'Look at the graphs', status: 'completed' }],
        },
      }),
      {
        type: 'compacted',
        at: now + 6_500,
        startedAt: now + 6_495,
        summary: '',
        replaced: 12,
        tokensBefore: 9_000,
        tokens: 3_000,
        charge: null,
        problem: null,
      },
      { type: 'parked', at: now + 6_500, isLost: false },
      {
        type: 'resumed',
        at: now + 6_500,
        admission: 'granted',
        decisions: [decision],
        isCancelled: false,
        closed: [],
      },
      {
        type: 'load_failed',
        at: now + 6_500,
        code: 'NETWORK',
        message: 'The <i>machine</i> stopped.',
      },
      last,
    ])
  const html = (await admin.read(`/activations/${id}`)).replaceAll('\u00a0', ' ')
  expect(html).toContain('Find the &lt;b&gt;cause&lt;/b&gt;')
  expect(html).toContain('100 % done')
  expect(html).toMatch(
    /hub\.search<\/span><span class="r crit">failed<\/span><p>Nothing &lt;b&gt;there&lt;\/b&gt;\./,
  )
  expect(html).toMatch(/\d+ events, in order/)
  expect(html).toMatch(/\d+\. hub.search failed after 0.38 s/)
  expect(html).toMatch(/\d+\. Could not load .*: The &lt;i&gt;machine&lt;\/i&gt; stopped\./)
  expect(html).toContain(`href="/api/v1/activations/${id}/events"`)
  expect(html).toContain('Summarized 12 messages: 9,000 tokens before, 3,000 after.')
  expect(html).toContain('denied by mira: not now')
  expect(html).toMatch(/no-secrets.*beforeToolCall.*denied/)
  expect(html).toContain('97 %')
})

test('B1 L43: a running activation has cost all that was charged, and the table of its steps adds up to that', async () => {
  await insert('running')
  // a call without an answer, which belongs to no step
  const lost = (over: object): RunEvent => ({
    type: 'interrupted',
    at: hub.clock.now() + 18_400,
    isEnded: false,
    closed: [],
    charge: charge({ inputTokens: 8_676, cachedTokens: 180, outputTokens: 202, ...over }),
  })
  const read = async (...more: RunEvent[]) => {
    const events = [...logOf(id, scout.name, hub.clock.now()), ...more]
    hub.seen.readRunLog = async () => toStoredLog(events)
    return (await admin.read(`/activations/${id}`)).replaceAll('\u00a0', ' ')
  }
  const html = await read(lost({ microusd: 20_000 }))
  expect(html).toMatch(/<dt>Cost<\/dt><dd>\$0\.0818</)
  expect(html).toContain('30,000 in, 1,000 out')
  const [, other = '', all = ''] = html.split(/<td>(?:Calls outside steps|All calls)<\/td>/)
  expect(other).toMatch(/8,676.*180.*202.*\$0\.0200/s)
  expect(all).toMatch(/30,000.*17,000.*1,000.*\$0\.0818/s)
  const steps = logOf(id, scout.name, hub.clock.now())
  const free = steps.map((event) =>
    event.type === 'model_answered'
      ? { ...event, charge: { ...event.charge, microusd: 0, isPriced: false } }
      : event,
  )
  hub.seen.readRunLog = async () => toStoredLog([...free, lost({ microusd: 0, isPriced: false })])
  const unpriced = (await admin.read(`/activations/${id}`)).replaceAll('\u00a0', ' ')
  expect(unpriced).toMatch(/Calls outside steps<\/td>.*?>unpriced<.*?All calls.*?>unpriced</s)
  expect(unpriced).not.toContain('no cost')
  const before = await read()
  expect(before).toMatch(/<dt>Cost<\/dt><dd>\$0\.0618</)
  expect(before).not.toContain('Calls outside steps')
})

test('L42: the events of a running activation come from its agent, masked, and are numbered after a number', async () => {
  await insert('running')
  const secret = `sk-${'q7'.repeat(15)}`
  hub.seen.readRunLog = async () =>
    toStoredLog([
      woken(id),
      answered({ calls: [requested('c', 'hub_search', JSON.stringify({ key: secret }))] }),
    ])
  const { body } = await hub.call(`/activations/${id}/events?after=1`, { key: adminKey })
  expect(JSON.stringify(body)).toContain('[withheld]')
  expect(body).toMatchObject({ last_seq: 5, is_over: false, events: [{ seq: 2 }, {}, {}, {}] })
  expect(JSON.stringify(body)).not.toContain(secret)
})

test('pages: the page of an idle agent shows what wakes it, how often it explores and its schedule', async () => {
  const before = await stranger.read(`/a/${scout.name}`)
  expect(before).toContain('<dt>Explorations</dt><dd>Off in the definition.</dd>')
  await env.DB.batch([
    env.DB.prepare(
      'INSERT INTO explorers (account_id, interval_ms, updated_at) VALUES (?, 7200000, 0)',
    ).bind(scout.id),
    env.DB.prepare(
      `INSERT INTO schedules (account_id, key, cron, timezone, task, due_at) VALUES (?, 'k', '0 9 * * *', 'UTC', 'news', ?)`,
    ).bind(scout.id, Date.UTC(2026, 0, 2, 9)),
  ])
  const html = (await stranger.read(`/a/${scout.name}`)).replaceAll('\u00a0', ' ')
  expect(html).toContain('About every 2 h,')
  expect(html).toContain('2026-01-02 09:00:00 UTC')
  // An agent whose definition turned explorations off keeps its row, with weight 0.
  await env.DB.prepare('UPDATE explorers SET weight = 0, interval_ms = 0').run()
  expect(await stranger.read(`/a/${scout.name}`)).toContain('<dd>Off in the definition.</dd>')
})
