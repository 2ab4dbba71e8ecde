import { expect, test } from 'vitest'
import contents from '../../docs/README.md?raw'
import { type Browser, createBrowser, createScene, signIn } from './open-pages'

const { hub, mira } = await createScene()
const admin = await signIn(hub)
const member = await signIn(hub, mira.key)
const stranger = createBrowser(hub)

const listLinks = (html: string): string[] =>
  [...html.matchAll(/<a [^>]*href="(\/[^"#]*)/g)].map(([, href = '']) => href)

const findBar = (html: string): string =>
  /<header class="top">[\s\S]*?<\/header>/.exec(html)?.[0] ?? ''
const findMenu = (bar: string): string =>
  /<details class="fold-out all">[\s\S]*?<\/details>/.exec(bar)?.[0] ?? ''

/** What the bar led to before it had a menu for the rest, by who looks. */
const forAll = ['/', '/m', '/agents', '/budgets', '/runs', '/scheduler', '/search', '/docs']
const forMembers = ['/inbox', '/approvals', '/tools', '/settings', '/audit']
const forAdmins = [
  '/admin/people',
  '/policy',
  '/credentials',
  '/models',
  '/runners',
  '/moderation',
  '/admin/log',
  '/admin/backups',
  '/admin/limits',
]

test.each([
  ['a stranger', stranger, forAll],
  ['a member', member, [...forAll, ...forMembers]],
  ['an admin', admin, [...forAll, ...forMembers, ...forAdmins]],
] satisfies [string, Browser, string[]][])(
  'pages: from any page %s reaches every page of the bar with at most two clicks, and each opens',
  async (_, browser, paths) => {
    const bar = findBar(await browser.read('/docs'))
    const inMenu = listLinks(findMenu(bar))
    // One click opens a menu, the other follows a link of it.
    expect(listLinks(bar)).toEqual(expect.arrayContaining(paths))
    // tests/web/tools opens those whose tables this hub has not
    const opened = listLinks(bar).filter((path) => !['/credentials', '/models'].includes(path))
    for (const path of new Set(opened)) {
      expect([path, (await browser.get(path)).status]).toEqual([path, 200])
    }
    const direct = new Set(listLinks(bar.replace(findMenu(bar), '').replace(/<details[\s\S]*/, '')))
    expect(direct.size).toBeLessThanOrEqual(5)
    expect(inMenu).toEqual(expect.arrayContaining(['/', '/m', '/agents', '/search']))
  },
)

test.each([
  ['/m', 'Communities'],
  ['/agents', 'Agents'],
  ['/inbox', 'Inbox'],
  ['/runs', 'Runs'],
  ['/scheduler', 'Scheduler'],
  ['/tools', 'Tools'],
  ['/policy', 'Policy'],
  ['/admin/people', 'People'],
  ['/admin/log', 'Admin log'],
  ['/docs', 'Docs'],
])(
  'pages: the bar marks %s as the current page, and its menu when the page is in there',
  async (path, name) => {
    const bar = findBar(await admin.read(path))
    const current = [...bar.matchAll(/href="([^"]+)" aria-current="page">([^<]+)/g)]
    expect(current.map(([, href, text]) => [href, text])).toEqual([[path, name]])
    const isInMenu = findMenu(bar).includes('aria-current="page"')
    expect(bar.includes('<summary aria-current="true">')).toBe(isInMenu)
  },
)

test('pages: the menu of the bar shows the sum of what waits, and each page its own part', async () => {
  const { body } = await hub.call('/posts', {
    key: mira.key,
    body: { community: 'general', title: 'Plums', content: 'For sale' },
  })
  const readCounts = async () => {
    const menu = findMenu(findBar(await admin.read('/docs')))
    return [...menu.matchAll(/(?:(\w+)<\/span>|>(\w+))<b> (\d+)/g)].map(
      ([, summary, link, count]) => [summary ?? link, Number(count)],
    )
  }
  expect(await readCounts()).toEqual([])
  const finn = await hub.join('finn', 'human')
  await hub.call(`/posts/${body.post.id}/report`, { key: finn.key, body: { reason: 'An advert' } })
  expect(await readCounts()).toEqual([
    ['Menu', 1],
    ['Moderation', 1],
  ])
})

const listTools = (html: string): string[] =>
  [...html.matchAll(/<details class="provider"[^>]*><summary><b>([^<]+)</g)].map(
    ([, name = '']) => name,
  )

test('pages: the tools page has a line for each tool, which opens, and a filter by name, grant and description', async () => {
  const all = await member.read('/tools')
  const tools = hub.context().tools.servers.flatMap((server) => server.tools)
  expect(listTools(all)).toEqual(tools.map(({ name }) => name))
  expect(all).not.toContain('<details class="provider" open')
  const [first] = tools
  if (!first) throw new Error('no tools')
  for (const query of [first.name.toUpperCase(), `${first.server} ${first.description}`]) {
    const html = await member.read(`/tools?q=${encodeURIComponent(query)}`)
    expect(listTools(html)).toContain(first.name)
    expect(listTools(html).length).toBeLessThan(tools.length)
  }
  const none = await member.read('/tools?q=no-tool-has-this')
  expect(listTools(none)).toEqual([])
  expect(none).toContain('0\u00a0tools. <a class="ul" href="/tools">Show all tools</a>')
})

const listRequests = (html: string): string[] =>
  [...html.matchAll(/href="\/docs\/[\w-]+#[^"]+"><code>([^<]+)</g)].map(([, name = '']) => name)
const listGuides = (html: string): string[] =>
  [...html.matchAll(/data-l="Guide"><a class="ul" href="\/docs\/guides\/([\w-]+)"/g)].map(
    ([, name = '']) => name,
  )

test('pages: the docs list what people do, with a page of the hub or a guide that the source has', async () => {
  const html = await admin.read('/docs')
  const known = [...contents.matchAll(/\]\(([\w-]+)\.md\)/g)].map(([, name]) => name)
  expect(listGuides(html).length).toBeGreaterThan(15)
  expect(known).toEqual(expect.arrayContaining(listGuides(html)))
  const rows = [...html.matchAll(/<tbody>[\s\S]*?<\/tbody>/g)].slice(0, 4).join('')
  const opened = listLinks(rows).filter((path) => !listLinks(findBar(html)).includes(path))
  for (const path of opened.filter((each) => each !== '/tools/remote')) {
    expect([path, (await admin.get(path)).status]).toEqual([path, 200])
  }
})

test('pages: a search of the docs finds tasks and API requests by their words', async () => {
  const html = await stranger.read('/docs?q=vote')
  expect(listRequests(html)).toContain('PUT /posts/:id/vote')
  expect(listRequests(html)).not.toContain('GET /search')
  expect(listGuides(await stranger.read('/docs?q=PASSKEY+phone'))).toEqual(['sign-in'])
  for (const word of ['invite', 'invitation', 'INVIT'])
    expect(listRequests(await stranger.read(`/docs?q=${word}`))).toContain('POST /invitations')
  for (const word of ['scheduled', 'schedule', 'sched'])
    expect(listGuides(await stranger.read(`/docs?q=${word}`))).toContain('scheduling')
  const none = await stranger.read('/docs?q=zebra')
  const nothing = '0\u00a0tasks, 0\u00a0sections of guides and 0\u00a0API requests.'
  expect(none).toContain(nothing)
  const examples = [...none.matchAll(/href="(\/docs\?q=\w+)"/g)].map(([, href = '']) => href)
  expect(examples).toHaveLength(3)
  for (const href of examples) expect(await stranger.read(href)).not.toContain(nothing)
})

const names = [...contents.matchAll(/\]\(([\w-]+)\.md\)/g)].map(([, name = '']) => name)
/** The main part of the page of a guide. */
const readGuide = async (name: string): Promise<string> =>
  /<main[\s\S]*<\/main>/.exec(await stranger.read(`/docs/guides/${name}`))?.[0] ?? ''

test('pages: every guide can be read in the hub, and its links lead to guides, headings and pages that there are', async () => {
  const pages = new Map(
    await Promise.all(names.map(async (name) => [name, await readGuide(name)] as const)),
  )
  expect(pages.size).toBeGreaterThan(20)
  for (const [name, html] of pages) {
    expect(html, name).not.toContain('its formatting is too complex')
    expect(html, name).toMatch(/<h1>[^<]+<\/h1>/)
    for (const [, href = ''] of html.matchAll(/<a [^>]*?href="([^"]*)"/g)) {
      if (/^(https?:|\/(?!docs\/guides))/.test(href)) continue
      const [path = '', anchor] = href.split('#')
      const target = path === '' ? html : (pages.get(path.replace('/docs/guides/', '')) ?? '')
      expect(target, `${name} links to ${href}`).not.toBe('')
      if (anchor) expect(target, `${name} links to ${href}`).toContain(`id="${anchor}"`)
    }
  }
})

test('pages: a search of the docs leads to the headings of the guides that have its words', async () => {
  const html = await stranger.read('/docs?q=limits+between+agents')
  expect(html).toContain('href="/docs/guides/conversation#limits-between-agents"')
  // words of a text, not of its heading
  const found = await stranger.read('/docs?q=bare+thanks+wake')
  expect(found).toContain('href="/docs/guides/conversation#continue-without-a-mention"')
  const paths = listLinks(found).filter((path) => path.startsWith('/docs/guides/'))
  expect(paths).toContain('/docs/guides/conversation')
  for (const [, name = '', id = ''] of found.matchAll(/href="\/docs\/guides\/([\w-]+)#([^"]+)"/g))
    expect(await readGuide(name), `${name}#${id}`).toContain(`id="${id}"`)
})

test.each(['nothing', 'README', '..%2Fwrangler', 'decisions%2Fagents', 'thread.png'])(
  'pages: there is no guide %s',
  async (name) => {
    expect((await stranger.get(`/docs/guides/${name}`)).status).toBe(404)
  },
)

test('pages: the inbox shows the items of a thread together, the newest first, the older ones behind a click', async () => {
  const dora = await hub.join('dora', 'human')
  const write = async (title: string) => {
    const { body } = await hub.call('/posts', {
      key: dora.key,
      body: { community: 'general', title, content: 'Who knows?' },
    })
    return body.post.id as string
  }
  const [kiln, loom] = [await write('The kiln'), await write('The loom')]
  const reply = async (postId: string, content: string) => {
    hub.clock.advance(1_000)
    await hub.call(`/posts/${postId}/comments`, { key: mira.key, body: { content } })
  }
  for (const n of [1, 2, 3]) await reply(kiln, `Kiln ${n}`)
  await reply(loom, 'Loom 1')
  for (const n of [4, 5]) await reply(kiln, `Kiln ${n}`)
  const html = await (await signIn(hub, dora.key)).read('/inbox')
  expect(html.match(/<bdi>The kiln<\/bdi>/g)).toHaveLength(1)
  const texts = [...html.matchAll(/(Kiln|Loom) \d|<summary>[^<]+/g)].map(([text]) => text)
  expect(texts).toEqual([
    'Kiln 5',
    'Kiln 4',
    'Kiln 3',
    '<summary>2 more',
    'Kiln 2',
    'Kiln 1',
    'Loom 1',
  ])
})
