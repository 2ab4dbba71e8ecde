import fc from 'fast-check'
import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { beforeAll, expect, test } from 'vitest'
import { selectKeyHolder } from '../../src/hub/http/known-secret-queries'
import { run } from '../../src/shared/db/batch'
import { sha256 } from '../../src/shared/sha256'
import { type AtomFeed, writeAtom } from '../../src/web/feeds/feeds'
import { adminKey, createTestHub, type TestHub } from '../hub/create-test-hub'
import { signIn } from './open-pages'

interface Entry {
  id: string
  title: string
  published: string
  updated: string
  author: { name: string; uri: string }
  link: { '@href': string }
  category?: { '@term': string }
  content?: string
  summary?: string
}

interface Feed {
  '@xml:base': string
  id: string
  title: string
  updated: string
  link: { '@rel': string; '@type': string; '@href': string }[]
  entry: Entry[]
}

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  textNodeName: 'text',
  parseTagValue: false,
  trimValues: false,
  isArray: (name, path) => name === 'entry' || String(path) === 'feed.link',
  processEntities: true,
})
/** Text of an element: a parser gives those with attributes as objects. */
const toText = (value: unknown): string =>
  typeof value === 'object' && value !== null
    ? String(Reflect.get(value, 'text') ?? '')
    : String(value)

/** Parses a feed, and checks what RFC 4287 (sections 4.1.1 and 4.1.2) requires of every one. */
function parse(xml: string): Feed {
  expect(XMLValidator.validate(xml)).toBe(true)
  const { feed }: { feed: Feed } = parser.parse(xml)
  const entries = (feed.entry ?? []).map((entry) => ({
    ...entry,
    ...(entry.content !== undefined && { content: toText(entry.content) }),
    ...(entry.summary !== undefined && { summary: toText(entry.summary) }),
  }))
  const isTime = (text: string) => new Date(text).toISOString() === text
  for (const each of [feed, ...entries]) {
    expect(URL.canParse(each.id)).toBe(true)
    expect(typeof each.title).toBe('string')
    expect(isTime(each.updated)).toBe(true)
  }
  for (const { published, author, link, content, summary } of entries) {
    expect(isTime(published)).toBe(true)
    expect(URL.canParse(author.uri)).toBe(true)
    expect(URL.canParse(link['@href'])).toBe(true)
    expect([content, summary].filter((text) => text !== undefined)).toHaveLength(1)
  }
  expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length)
  expect(feed.link.map((each) => each['@rel'])).toEqual(['alternate', 'self'])
  return { ...feed, entry: entries }
}

let hub: TestHub
let mira: Awaited<ReturnType<TestHub['join']>>
let tomas: Awaited<ReturnType<TestHub['join']>>
beforeAll(async () => {
  hub = createTestHub()
  mira = await hub.join('mira', 'human')
  tomas = await hub.join('tomas', 'human')
})

const write = async (fields: Record<string, string>, key = mira.key): Promise<string> =>
  (await hub.call('/posts', { key, body: { community: 'general', ...fields } })).body.post.id

const get = (path: string, headers: Record<string, string> = {}) => hub.fetch(path, { headers })
const read = async (path: string): Promise<Feed> => parse(await (await get(path)).text())
const titlesOf = async (path: string) => (await read(path)).entry.map(({ title }) => title)

/** Makes the address of an account's feeds in its settings. */
async function makeToken(key: string): Promise<string> {
  const browser = await signIn(hub, key)
  const html = await (await browser.send('/settings/feed-token', {})).text()
  return /feed\.atom\?token=([\w-]+)/.exec(html)?.[1] ?? ''
}

test('O3: the feeds of the hub, a community, an account and a thread have what their pages show, newest first', async () => {
  const first = await write({ title: 'Plums & <pears>', content: 'See [the list](/m/general).' })
  hub.clock.advance(60_000)
  const second = await write({ title: 'Herons', content: 'Nine.' }, tomas.key)
  const comment = await hub.call(`/posts/${first}/comments`, {
    key: tomas.key,
    body: { content: 'They are *ripe*.' },
  })

  const feed = await read('/feed.atom')
  expect(feed['@xml:base']).toBe('http://hub.test/')
  expect(feed.entry.slice(0, 2).map(({ title }) => title)).toEqual(['Herons', 'Plums & <pears>'])
  const [, plums] = feed.entry
  expect(plums).toMatchObject({
    id: `http://hub.test/p/${first}`,
    author: { name: 'mira', uri: 'http://hub.test/a/mira' },
    category: { '@term': 'general' },
    link: { '@href': `http://hub.test/p/${first}` },
  })
  expect(plums?.content).toContain('<a href="/m/general"')
  expect(feed.updated).toBe(feed.entry[0]?.updated)

  expect(await titlesOf('/m/general.atom')).toEqual(expect.arrayContaining(['Herons']))
  expect(await titlesOf('/a/tomas.atom')).toEqual(['Herons'])
  const thread = await read(`/p/${first}.atom`)
  expect(thread.title).toBe('Plums & <pears>')
  expect(thread.entry).toMatchObject([
    { id: expect.stringContaining(comment.body.comment.id), author: { name: 'tomas' } },
  ])
  expect(thread.entry[0]?.content).toContain('<em>ripe</em>')

  expect((await read(`/p/${second}.atom`)).entry).toEqual([])
  await hub.call(`/posts/${second}`, { method: 'DELETE', key: tomas.key })
  expect(await titlesOf('/a/tomas.atom')).toEqual([])
  expect((await get(`/p/${second}.atom`)).status).toBe(404)
  for (const path of ['/m/nowhere.atom', '/a/nobody.atom', '/p/x.atom']) {
    expect([path, (await get(path)).status]).toEqual([path, 404])
  }
})

test('O3: a reader that has the feed is told so, until something changes', async () => {
  const id = await write({ title: 'Kept' })
  const { headers } = await get('/feed.atom')
  const tag = headers.get('etag') ?? ''
  expect(headers.get('content-type')).toBe('application/atom+xml; charset=utf-8')
  expect(headers.get('cache-control')).toBe('private, max-age=0, must-revalidate')
  for (const sent of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
    const again = await get('/feed.atom', { 'if-none-match': sent })
    expect([sent, again.status, await again.text()]).toEqual([sent, 304, ''])
    expect(again.headers.get('etag')).toBe(tag)
  }
  await hub.call(`/posts/${id}`, { method: 'PATCH', key: mira.key, body: { content: 'Changed.' } })
  const changed = await get('/feed.atom', { 'if-none-match': tag })
  expect(changed.status).toBe(200)
  expect(changed.headers.get('etag')).not.toBe(tag)
})

test('O3: a token reads what its account reads, as long as the account reads it', async () => {
  await hub.call('/communities', {
    key: mira.key,
    body: { name: 'cellar', visibility: 'private' },
  })
  const secret = await write({ title: 'Under the stairs', community: 'cellar' })
  await hub.call('/communities/cellar/members/tomas', { method: 'PUT', key: mira.key, body: {} })
  const token = await makeToken(tomas.key)
  expect(token).toMatch(/^rookery_feed_[\w-]{43}$/)
  const paths = ['/m/cellar.atom', `/p/${secret}.atom`]
  const statuses = (search: string) =>
    Promise.all(paths.map(async (path) => (await get(path + search)).status))
  expect(await statuses('')).toEqual([404, 404])
  expect(await statuses(`?token=${token}`)).toEqual([200, 200])
  expect(await titlesOf(`/feed.atom?token=${token}`)).toContain('Under the stairs')
  expect(await titlesOf('/feed.atom')).not.toContain('Under the stairs')

  await hub.call('/communities/cellar/members/tomas', { method: 'DELETE', key: mira.key })
  expect(await statuses(`?token=${token}`)).toEqual([404, 404])
  expect(await titlesOf(`/feed.atom?token=${token}`)).not.toContain('Under the stairs')
})

test('O3: a token reads feeds and nothing else, and ends with its successor, its deletion or its account', async () => {
  const olga = await hub.join('olga', 'human')
  const first = await makeToken(olga.key)
  expect((await get(`/feed.atom?token=${first}`)).status).toBe(200)
  expect((await hub.call('/me', { key: first })).status).toBe(401)
  expect((await hub.call('/posts', { key: first, body: { title: 'x' } })).status).toBe(401)
  expect((await get('/feed.atom', { authorization: `Bearer ${first}` })).status).toBe(401)
  expect((await get(`/m/general?token=${first}`)).status).toBe(200)
  // Sent as a key it is nobody's, so that it uses up no limit of its account.
  const asKey = { hash: await sha256(first), adminKeyHash: '', now: hub.clock.now() }
  expect(await run(hub.context().db, selectKeyHolder(asKey))).toBeUndefined()

  const second = await makeToken(olga.key)
  expect((await get(`/feed.atom?token=${first}`)).status).toBe(401)
  expect((await get(`/feed.atom?token=${second}`)).status).toBe(200)
  const browser = await signIn(hub, olga.key)
  expect(await browser.read('/settings/notifications')).not.toContain(second)
  await browser.send('/settings/feed-token/delete', {})
  expect((await get(`/feed.atom?token=${second}`)).status).toBe(401)

  const third = await makeToken(olga.key)
  await hub.call('/accounts/olga/disable', { key: adminKey, method: 'POST', body: {} })
  const refused = await get(`/feed.atom?token=${third}`)
  expect(refused.status).toBe(401)
  expect(await refused.text()).toContain('Make a new one at /settings/notifications.')
  for (const invented of ['', 'x', olga.key]) {
    expect((await get(`/feed.atom?token=${invented}`)).status).toBe(401)
  }
})

test('O3: on a private hub a feed needs a token', async () => {
  const closed = createTestHub({ ROOKERY_PUBLIC: 'false' })
  expect((await closed.fetch('/feed.atom')).status).toBe(401)
  const token = await makeToken(mira.key)
  expect((await closed.fetch(`/feed.atom?token=${token}`)).status).toBe(200)
})

test('O3: pages name their feed, so that a reader finds it by the address of the page', async () => {
  const id = await write({ title: 'Found' })
  for (const [page, path] of [
    ['/', '/feed.atom'],
    ['/m/general', '/m/general.atom'],
    ['/a/mira', '/a/mira.atom'],
    [`/p/${id}`, `/p/${id}.atom`],
  ] as const) {
    const html = await (await get(page, { accept: 'text/html' })).text()
    expect(html).toContain(`type="application/atom+xml"`)
    expect(html).toContain(`href="${path}"`)
    await read(path)
  }
})

test('O3: whatever a text holds, the feed is well-formed and gives it back without what XML cannot hold', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.constantFrom(
      ']]>',
      '<!--',
      '&amp;',
      '\u0000',
      '\ud800',
      '\uffff',
      '<script>',
      '"\'',
      '\r\n',
    ),
  )
  const entry = fc.record({
    title: text,
    page: fc.uuid().map((id) => `/p/${id}`),
    author: fc.record({ name: text, page: fc.constant('/a/mira') }),
    publishedAt: fc.integer({ min: 0, max: 4e12 }),
    editedAt: fc.option(fc.integer({ min: 0, max: 4e12 })),
    category: fc.option(text),
    content: fc.oneof(fc.record({ html: text }), fc.record({ excerpt: text })),
  })
  const feed: fc.Arbitrary<AtomFeed> = fc.record({
    title: text,
    page: fc.constant('/'),
    self: fc.constant('/feed.atom'),
    since: fc.constant(0),
    entries: fc.uniqueArray(entry, { maxLength: 3, selector: ({ page }) => page }),
  })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 cannot contain them
  const forbidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g
  const toKept = (given: string) =>
    given.toWellFormed().replace(forbidden, '').replace(/\r\n?/g, '\n')
  fc.assert(
    fc.property(feed, (given) => {
      const read = parse(writeAtom('https://hub.test', given))
      expect(toText(read.title)).toBe(toKept(given.title))
      for (const [index, { content }] of given.entries.entries()) {
        const kept = toKept('html' in content ? content.html : content.excerpt)
        const got = read.entry[index]
        expect(got?.content ?? got?.summary).toBe(kept)
      }
    }),
  )
})
