import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { officeAgents } from '../support/generate-usage.ts'
import { openRunnerSocket } from '../support/open-runner-socket.ts'
import { addUsage } from './add-usage.ts'
import {
  findLayoutProblems,
  launchBrowser,
  openSignedIn,
  type RunningHub,
  startHubForBrowser,
} from './start-for-browser.ts'

let hub: RunningHub
let browser: Browser
let paths: string[] = []
let looking: Promise<Look[]> | undefined

beforeAll(async () => {
  hub = await startHubForBrowser()
  browser = await launchBrowser()
  paths = await makeContent()
})
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
})

async function api(
  path: string,
  body: unknown,
  method = 'POST',
  key = hub.adminKey,
): Promise<Record<string, { id: string }>> {
  const response = await fetch(`${hub.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return (await response.json()) as Record<string, { id: string }>
}

/** Connects a runner with a long name and many labels. */
async function connectRunner(): Promise<void> {
  const { key } = await api('/runners/keys', { label: 'The machine in the cellar' })
  await openRunnerSocket(hub.url, String(Reflect.get(key ?? {}, 'api_key')), {
    name: 'a-name-that-is-as-long-as-it-may-be-1234',
    labels: Array.from(
      { length: 6 },
      (_, index) => `a-label-that-is-as-long-as-it-may-be-${index}`,
    ),
    programs: [{ type: 'claude-code', version: '2.1.0 (Claude Code)' }],
  })
}

/** Creates a thread that is hard to lay out, with an agent's answer. Returns the pages to check. */
async function makeContent(): Promise<string[]> {
  const long = 'a-word-that-never-ends-'.repeat(9)
  const wide = `| ${'column-that-is-named | '.repeat(24)}\n|${'---|'.repeat(24)}\n| ${'1 | '.repeat(24)}`
  const made = await api('/posts', {
    community: 'general',
    title: `How long may a title be? ${long}`.slice(0, 300),
    content: `@scout is it ${long}?\n\n## A heading\n\n\`\`\`\n${long}${long}\n\`\`\`\n\n| a | b |\n|---|---|\n| ${long} | 2 |\n\n${wide}\n\n- [x] done`,
  })
  const id = made.post?.id ?? ''
  let parent: string | null = null
  for (let depth = 0; depth < 8; depth++) {
    const reply: Record<string, { id: string }> = await api(`/posts/${id}/comments`, {
      content: `# Level ${depth}\n\n${long}`,
      parent_id: parent,
    })
    parent = reply.comment?.id ?? null
  }
  const written = await api('/conversations', { to: 'scout', content: `# Hi\n\n${long}` })
  const activation = await waitForAnswer(`${hub.url}/p/${id}`)
  for (const [name] of officeAgents) await api('/accounts', { name, kind: 'agent' })
  addUsage(hub.stateDir)
  const audit = await makeRules()
  const invited = await api('/invitations', { role: 'member', note: 'Mira from design' })
  const join = new URL(String(Reflect.get(invited.invitation ?? {}, 'url'))).pathname
  await api('/accounts/greeter/bans', { kind: 'mute', reason: `Too long: ${long}` })
  const moderated = await moderate(long)
  await connectRunner()
  const events = ['post.created']
  const { webhook } = await api('/webhooks', { url: 'https://receiver.example/in', events })
  await api('/triggers', { agent: 'scout', takes_reviews: true, verify: 'github' })
  const { trigger } = await api('/triggers', {
    community: 'general',
    template: `News: {{ title }}\n\n${long}`.slice(0, 4_000),
    verify: 'github',
  })
  return [
    '/',
    '/?sort=top',
    '/m',
    '/m/general',
    '/m/general/settings',
    '/communities-new',
    '/m/agent-learnings',
    `/p/${id}`,
    `/p/${id}?reply_to=${parent}`,
    '/a/scout',
    '/a/admin',
    '/agents',
    '/agents/new',
    '/agents/new?template=triage',
    '/a/scout/edit',
    '/a/scout/edit?view=files',
    '/a/scout/versions?show=1',
    '/a/scout/knows',
    '/a/scout/schedules',
    activation,
    join,
    '/admin/people',
    '/runners',
    '/admin/people?state=muted',
    '/admin/people/greeter',
    '/budgets',
    '/budgets?by=model&days=90&each=week',
    '/budgets?by=task&days=365&in=tokens',
    '/budgets/new',
    '/budgets/00000000-0000-7000-8000-000000000201',
    '/budgets/00000000-0000-7000-8000-000000000201/delete',
    '/scheduler',
    '/tools',
    '/tools/remote',
    '/policy',
    '/policy/*',
    '/policy/scout#denied',
    '/credentials',
    '/credentials?change=http%2Fweather',
    '/models',
    '/audit',
    '/audit?tool=github_*&since=2026-01-01',
    '/runs',
    '/runs?agent=scout&cost_from=0.01',
    audit,
    '/inbox',
    '/dm',
    `/dm/${written.conversation?.id}`,
    '/search',
    '/search?q=title',
    '/search?q=nothinghasthis',
    '/moderation',
    '/moderation/mine',
    '/moderation/notice',
    '/moderation/log/general',
    `/p/${id}/edit`,
    `/p/${id}/edit?comment=${parent}`,
    `/p/${id}/report`,
    `/p/${id}?sort=best`,
    `/p/${id}/versions`,
    `/p/${moderated}`,
    `/p/${moderated}/moderate`,
    '/login',
    await createLinkPath(),
    '/settings',
    '/settings/sign-in',
    '/settings/notifications',
    '/settings/sessions',
    '/settings/keys',
    '/settings/webhooks',
    `/settings/webhooks/${webhook?.id}`,
    `/settings/webhooks/${webhook?.id}/delete`,
    '/m/general/settings/webhooks',
    '/settings/triggers',
    `/settings/triggers/${trigger?.id}/delete`,
    '/m/general/settings/triggers',
    '/docs',
    '/no-such-page',
  ]
}

/** Returns the page of a sign-in link. */
async function createLinkPath(): Promise<string> {
  const { url } = await api('/sessions/link', {})
  const { pathname, search } = new URL(String(url))
  return pathname + search
}

/** Creates a report, a removal, a ban and an appeal with long texts. Returns the id of a thread with them. */
async function moderate(long: string): Promise<string> {
  const reason = { reason: `Not here: ${long}` }
  const { account: agent } = (await api('/accounts', { name: 'mona', kind: 'human' })) as {
    account?: { api_key?: string }
  }
  const key = agent?.api_key ?? ''
  const content = { community: 'general', title: 'Plums', content: long }
  const thread = (await api('/posts', content, 'POST', key)).post?.id ?? ''
  const comment = (await api(`/posts/${thread}/comments`, { content: long }, 'POST', key)).comment
  const { action } = await api(`/comments/${comment?.id}/remove`, reason)
  await api('/appeals', { action_id: action?.id, text: long }, 'POST', key)
  await api(`/posts/${thread}/pin`, reason)
  const reported = (await api('/posts', content)).post?.id ?? ''
  await api(`/posts/${reported}/report`, reason, 'POST', key)
  await api('/communities/general/bans', { account: 'mona', kind: 'mute', ...reason })
  return thread
}

/** Creates rules, a service and its credential. Returns the page of a call's audit entry. */
async function makeRules(): Promise<string> {
  const service = {
    base_url: 'https://a-host-that-is-named-at-length.example.com/v1/and/a/path/that/goes/on',
    credential: 'weather-key',
    headers: { Authorization: 'Bearer {credential}' },
  }
  await api('/services/http/weather', service, 'PUT')
  await api('/credentials/weather-key', { service: 'weather', value: 'a-long-secret' }, 'PUT')
  const limits = [{ tool: 'hub_create_post', per: 'day', limit: 5, scope: 'session' }]
  const denied = ['hub:write', 'http:a-service-that-is-named-at-length:write']
  const rules = { allowed: ['hub:*', 'http:weather:read'], denied, rate_limits: limits }
  await api('/agents/scout/grants', rules, 'PUT')
  const { entries } = (await (
    await fetch(`${hub.url}/api/v1/audit`, { headers: { authorization: `Bearer ${hub.adminKey}` } })
  ).json()) as { entries: { id: string }[] }
  return `/audit/${encodeURIComponent(entries[0]?.id ?? '')}`
}

async function waitForAnswer(url: string): Promise<string> {
  const findPath = async () => {
    const html = await (await fetch(url)).text()
    const path = /href="(\/activations\/[^"]+)">View run</.exec(html)?.[1]
    if (!path) throw new Error('no answer of scout')
    return path
  }
  return vi.waitFor(findPath, { timeout: 120_000, interval: 300 })
}

interface Look {
  path: string
  problems: string[]
  stylesheets: number
  bytes: number
}

/** Opens each page once, and returns what is seen. */
async function lookAtEach(): Promise<Look[]> {
  const { context, page, errors } = await openSignedIn(browser, hub)
  const looks: Look[] = []
  for (const path of paths) {
    await page.goto(hub.url + path)
    const stylesheets = await page.locator('link[rel=stylesheet]').count()
    const bytes = await page.evaluate(() =>
      (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
        .filter(({ name }) => name.includes('/assets/'))
        .reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0),
    )
    looks.push({ path, problems: await findLayoutProblems(page), stylesheets, bytes })
  }
  expect(errors.filter((error) => !error.includes('404'))).toEqual([])
  await context.close()
  return looks
}

const look = () => {
  looking ??= lookAtEach()
  return looking
}

test('pages: axe finds nothing and nothing scrolls sideways, wide and narrow, light and dark', async () => {
  const looks = await look()
  expect(looks.length).toBeGreaterThan(20)
  for (const { path, problems } of looks) expect(problems, path).toEqual([])
}, 900_000)

test('pages: the first paint needs one request besides the stylesheet, and under 30 KB of both', async () => {
  for (const { path, stylesheets, bytes } of await look()) {
    expect(stylesheets, path).toBe(1)
    expect(bytes, path).toBeGreaterThan(10_000)
    expect(bytes, path).toBeLessThan(30_000)
  }
})
