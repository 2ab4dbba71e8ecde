import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import type { Plan } from '../../src/agents/contract/agents'
import { assetPaths } from '../../src/web/frame/assets'
import { createTestHub, readCost } from '../hub/create-test-hub'
import { toStoredLog } from '../support/run-log'
import { createBrowser, createScene, logOf, signIn } from './open-pages'

const scene = await createScene()
const { hub, mira, scout, postId, activationId } = scene
const paths = [
  '/',
  '/?sort=new',
  '/?sort=top',
  '/m',
  '/m/general',
  '/m/general?sort=rising',
  '/m/general?sort=top',
  `/p/${postId}`,
  `/a/${scout.name}`,
  `/a/${mira.name}`,
  `/activations/${activationId}`,
  '/budgets',
  '/budgets.csv',
  '/scheduler',
  '/scheduler.csv',
  '/search?q=tail',
  '/docs',
  '/docs/write',
]

// The first request of an hour also notes that the session was used, after its answer.
const admin = await signIn(hub)
await admin.get('/docs')

test.each(paths)('invariant 6: %s costs one D1 round trip, the viewer included', async (path) => {
  const response = await admin.get(path)
  expect(response.status).toBe(200)
  expect(readCost(response.headers).roundTrips).toBe(1)
})

test('invariant 6: the inbox costs one D1 round trip', async () => {
  const response = await admin.get('/inbox')
  expect(response.status).toBe(200)
  expect(readCost(response.headers).roundTrips).toBe(1)
})

test.each(paths.filter((path) => !path.endsWith('.csv')))(
  'pages: %s works for a stranger, and allows no inline script',
  async (path) => {
    const response = await createBrowser(hub).get(path)
    const html = await response.text()
    expect(response.status).toBe(200)
    expect(html).toContain('<html lang="en">')
    expect(html).not.toMatch(/ style="| on[a-z]+="|<style|<script>/)
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toContain('unsafe')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  },
)

test('pages: the docs say how a coding CLI is connected to this hub', async () => {
  const docs = await createBrowser(hub).read('/docs')
  expect(docs).toMatch(/claude mcp add[^<]* http:\/\/hub\.test\/mcp \\/)
  expect(docs).toContain('href="/agents"')
})

test('H17: the docs show every operation once, in its group, with who may call it and an example', async () => {
  const browser = createBrowser(hub)
  const document: { tags: { name: string }[]; paths: Record<string, Record<string, unknown>> } =
    await (await hub.fetch('/openapi.json')).json()
  const written = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(
      (method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
    ),
  )
  const docs = await browser.read('/docs')
  expect(docs.length).toBeLessThan(120_000)
  const listed = [...docs.matchAll(/href="([^"#]+)#([^"]+)"><code>([^<]+)<\/code>/g)]
  expect(listed.map(([, , , name]) => name).sort()).toEqual(written.sort())
  const groups = [...docs.matchAll(/<h3 id="api-[\w-]+"><a class="ul" href="([^"]+)">([^<]+)</g)]
  expect(groups.map(([, , title]) => title)).toEqual(document.tags.map(({ name }) => name))
  for (const [, path = ''] of groups) {
    const page = await browser.read(path)
    expect([path, page.length < 120_000]).toEqual([path, true])
    const own = listed.filter(([, href]) => href === path)
    for (const [, , id, name] of own) {
      const [, section = ''] = page.split(`id="${id}"`)
      expect(section, name).toMatch(
        /^><h2><code>([^<]+)<\/code><\/h2><p[^>]*>[A-Z][^<]+\.<\/p><p[^>]*>[^<]+<\/p><details[^>]*><summary>/,
      )
      expect(section, name).toContain(`<h2><code>${name}</code>`)
      expect(section.split('</section>')[0], name).toMatch(/<pre[^>]*>curl .*<pre[^>]*>\{/s)
    }
    expect(page.match(/<details class="up2"/g)).toHaveLength(own.length)
  }
})

test('pages: the home page alone says of the whole hub that it uses the offline model, to everybody', async () => {
  const note = 'Agents use the built-in offline model'
  for (const browser of [admin, createBrowser(hub)]) {
    const saying: string[] = []
    for (const path of paths) if ((await browser.read(path)).includes(note)) saying.push(path)
    expect(saying).toEqual(['/', '/?sort=new', '/?sort=top'])
  }
})

test('pages: with a provider key no page shows the offline notice', async () => {
  const other = createTestHub({ OPENAI_API_KEY: 'sk-test' })
  expect(await createBrowser(other).read('/')).not.toContain('built-in offline model')
})

test('pages: without a database read no page says that the hub has no model', async () => {
  expect(await createBrowser(createTestHub()).read('/login')).not.toContain(
    'built-in offline model',
  )
})

test('pages: style and scripts of the fullest pages stay under 30 KB, and may be cached forever', async () => {
  const { css, thread, trace, admin, page, live, follow } = assetPaths()
  for (const paths of [
    [thread, page, live],
    [css, page, follow],
    [trace, page, follow],
    [admin, page, follow],
  ]) {
    let bytes = 0
    for (const path of paths) {
      const response = await hub.fetch(path)
      expect(response.headers.get('cache-control')).toContain('immutable')
      bytes += (await response.arrayBuffer()).byteLength
    }
    expect(bytes).toBeLessThan(30_000)
  }
  expect((await hub.fetch('/assets/0000000000000000.css')).status).toBe(404)
})

test('pages: the hub serves its own icon', async () => {
  const response = await hub.fetch('/favicon.svg')
  expect(response.headers.get('content-type')).toBe('image/svg+xml')
})

test('pages: an answer of an agent shows its provenance in one line', async () => {
  const html = await createBrowser(hub).read(`/p/${postId}`)
  expect(html).toContain('hub.search')
  expect(html).toContain('42\u00a0s')
  expect(html).toContain('44,001\u00a0tokens')
  expect(html).toContain('$0.062')
  expect(html).toContain(`href="/activations/${activationId}">View run`)
  expect(html).toMatch(/scout-\w+<span class="vh">, agent<\/span>/)
  expect(html).toContain(`<a class="at" href="/a/${scout.name}">@${scout.name}</a>`)
})

test('invariant 7: the trace page shows steps, tools with arguments and results, tokens and cost', async () => {
  const html = await (await signIn(hub)).read(`/activations/${activationId}`)
  expect(html).toContain('$0.0618')
  expect(html).toContain('$0.0095')
  expect(html).toContain('hub:read')
  expect(html).toContain('&lt;b&gt;tail&lt;/b&gt;')
  expect(html).toContain('Three results &lt;script&gt;')
  expect(html).toContain('One change fits.')
  expect(html).toContain(`asked by</span><a class="who" href="/a/${mira.name}"`)
  expect(html).toContain('75\u00a0%')
})

const planOf = (goal: string, first: string, second: string): Plan => ({
  goal,
  steps: [
    { callId: null, title: first, status: 'completed', output: null, reason: null },
    { callId: null, title: second, status: 'running', output: null, reason: null },
  ],
  progress: 0.5,
})

test('pages: a running activation shows its steps so far', async () => {
  const id = hub.clock.newId<string>()
  await env.DB.prepare(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, post_id, model, definition_version, started_at, deadline_at)
     VALUES (?, ?, 'inbox', 'mention', 'running', 'granted', ?, 'offline/extractive', 1, ?, ?)`,
  )
    .bind(id, scout.id, postId, hub.clock.now(), hub.clock.now() + 60_000)
    .run()
  const { agents } = hub.context()
  agents.readRunLog = async () => toStoredLog(logOf(id, scout.name, 0))
  agents.readState = async () => ({
    state: 'working',
    activationId: id as never,
    doing: 'searching the hub',
    reason: null,
    nextAt: null,
    plan: planOf('Compare two almanacs', 'Find both', 'Read them'),
    publicPlan: planOf('', '', ''),
    text: null,
  })
  const browser = createBrowser(hub)
  const trace = await browser.read(`/activations/${id}`)
  expect(trace).toContain(`${scout.name} is searching the hub`)
  expect(trace).toContain('hub.search')
  expect(trace).toContain('data-running')
  const thread = await browser.read(`/p/${postId}`)
  expect(thread).toContain(`data-activation="${id}"`)
  expect(thread).toContain('Reload the page to see the answer.')
  expect(await browser.read('/')).toContain('is working on an answer')
  const agent = await browser.read(`/a/${scout.name}`)
  expect(agent).toContain('is searching the hub')
  expect(agent).not.toMatch(/Compare two almanacs|Find both/)
  expect(agent).toContain('50\u00a0%')
  const own = await (await signIn(hub)).read(`/a/${scout.name}`)
  expect(own).toMatch(/Compare two almanacs.*Find both<\/b><span class="r">done.*in progress/)
  await env.DB.prepare("UPDATE activations SET state = 'done', outcome = 'failed' WHERE id = ?")
    .bind(id)
    .run()
})

test('B4: a budget without a current window shows that nothing can be spent', async () => {
  const html = await createBrowser(hub).read('/budgets')
  expect(html).toContain('No period is open now')
  expect(html).toContain('critical</span>')
})

test.each([
  [0.5, 'healthy', 'Nothing is paused.'],
  [0.85, 'warning', 'At 90\u00a0% exploration by all agents pauses.'],
  [0.92, 'throttle', 'Mentions are answered while the rest of the budget pays for them.'],
  [1, 'critical', 'No agent can spend more until'],
])(
  'B3: a hub that has used %d of its budget shows %s and its meaning',
  async (used, word, means) => {
    const now = hub.clock.now()
    await env.DB.prepare(
      `INSERT OR REPLACE INTO budget_windows (budget_id, starts_at, ends_at, spent_microusd)
     SELECT id, ?1, ?2, limit_microusd * ?3 FROM budgets WHERE scope = 'hub'`,
    )
      .bind(now - 1, now + 86_400_000, used)
      .run()
    const html = await createBrowser(hub).read('/budgets')
    expect(html).toContain(`${word}</span>`)
    expect(html).toContain(means)
  },
)

test.each(['/nope', '/docs/nope', '/p/nope', '/a/nope', '/m/nope', '/activations/nope', "/p/'%00"])(
  'pages: %s is a 404 page with links to go on',
  async (path) => {
    const response = await createBrowser(hub).get(path)
    expect(response.status).toBe(404)
    expect(await response.text()).toContain('Back to the feed')
  },
)

test('pages: an unreadable cursor is a 400 page', async () => {
  expect((await createBrowser(hub).get('/?cursor=%%%')).status).toBe(400)
})

test('pages: older posts are one link away, without a gap or a duplicate', async () => {
  const other = await createScene()
  for (let index = 0; index < 60; index++) {
    other.hub.clock.advance(1_000)
    await other.hub.call('/posts', {
      key: other.mira.key,
      body: { community: 'agent-learnings', title: `Number ${index}.`, content: '' },
    })
  }
  for (const sort of ['new', 'hot', 'top']) {
    const browser = createBrowser(other.hub)
    const seen: string[] = []
    let path: string | null = `/m/agent-learnings?sort=${sort}`
    while (path) {
      const html = await browser.read(path)
      seen.push(...[...html.matchAll(/Number (\d+)\./g)].map(([, number]) => number ?? ''))
      path = /href="([^"]+)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? null
    }
    expect(seen).toHaveLength(60)
    expect(new Set(seen).size).toBe(60)
  }
})
