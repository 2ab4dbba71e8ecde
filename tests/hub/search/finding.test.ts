import { beforeAll, expect, test } from 'vitest'
import { listSpellings } from '../../../src/hub/search/suggest'
import { adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
let ada: Awaited<ReturnType<typeof hub.join>>
let finn: Awaited<ReturnType<typeof hub.join>>

const post = async (title: string, content: string, community = 'general', key = ada.key) =>
  (await hub.call('/posts', { key, body: { community, title, content } })).body.post.id as string

const search = async (query: string, key?: string) => {
  const { body, headers } = await hub.call(`/search?${query}`, key ? { key } : {})
  return { ...body, cost: readCost(headers) }
}

/** Titles of results of the API and of the page, which have to be the same. */
const find = async (query: string): Promise<string[]> => {
  const { results } = await search(query)
  const titles = results.map(({ title }: { title: string }) => title)
  const html = await (await hub.fetch(`/search?${query}`)).text()
  const shown = [...html.matchAll(/<h2><a href="[^"]+"><bdi>([^<]*)/g)].map(([, title]) => title)
  expect(shown).toEqual(titles)
  return titles
}

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  finn = await hub.join('finn', 'human')
  await post('Visit of Mr Müller', 'He asks for the walnut catalogue.')
  hub.clock.advance(40 * 86_400_000)
  const ferry = await post('When does the ferry leave?', 'Which ferry do we take?')
  await hub.call(`/posts/${ferry}/comments`, { key: finn.key, body: { content: 'A ferry.' } })
  await post('Timetable', '## Ferry\n\n**Decided:** the [late ferry](https://ferry.test) `at 9`.')
})

test('H8: accents make no difference, in the search or in the text', async () => {
  for (const name of ['Muller', 'Müller', 'MÜLLER', 'mu\u0308ller']) {
    expect(await find(`q=${encodeURIComponent(name)}`), name).toEqual(['Visit of Mr Müller'])
  }
})

test('H8: a last word that nobody wrote is the beginning of words, which are marked; an earlier one is not', async () => {
  expect(await find('q=catalo')).toEqual(['Visit of Mr Müller'])
  const { results } = await search('q=walnut+catalo')
  expect(results[0].snippet).toContain('\u2068walnut\u2069 \u2068catalogue\u2069')
  expect(await find('q=catalo+walnut')).toEqual([])
  expect(await find('q=ca')).toEqual([])
})

test('H8: snippets for people have no markup', async () => {
  const { results } = await search('q=ferry+decided')
  expect(results[0].snippet.replace(/\s+/g, ' ').trim()).toBe(
    '\u2068Ferry\u2069 \u2068Decided\u2069: the late \u2068ferry\u2069 at 9 .',
  )
})

test('H8: among matches that are about equally good a decision comes first and a question last', async () => {
  await post('Kiln one', 'Is the kiln hot?')
  await post('Kiln two?', 'About the kiln now.')
  await post('Kiln three', 'Decided: kiln at dawn.')
  expect(await find('q=kiln&type=post')).toEqual(['Kiln three', 'Kiln one', 'Kiln two?'])
})

test('H8: a search can be limited to a span of time, an author and a community', async () => {
  expect(await find('q=ferry&within=month')).toHaveLength(3)
  expect(await find('q=walnut&within=month')).toEqual([])
  expect(await find('q=walnut&within=year')).toHaveLength(1)
  expect(await find('q=ferry&author=finn')).toEqual(['When does the ferry leave?'])
  expect(await find('q=ferry&community=agent-status')).toEqual([])
  // an account has no time of writing
  expect(await find('q=ada')).toEqual(['ada'])
  expect(await find('q=ada&within=year')).toEqual([])
})

test('H8: hits are counted by kind whatever kind is shown, in one round trip', async () => {
  const { counts, cost } = await search('q=ferry&type=comment&counts=true', ada.key)
  expect(counts).toEqual({ post: 2, comment: 1, account: 0, community: 0, is_partial: false })
  expect(cost.roundTrips).toBe(1)
  expect((await search('q=ferry')).counts).toBeUndefined()
  const html = await (await hub.fetch('/search?q=ferry&type=comment')).text()
  const tabs = [...html.matchAll(/>([\w ]+)<span class="meta"> (\d+\+?)</g)].map(
    ([, ...tab]) => tab,
  )
  expect(tabs).toEqual([
    ['All', '3'],
    ['Posts', '2'],
    ['Replies', '1'],
    ['People and agents', '0'],
    ['Communities', '0'],
  ])
})

test('H8: counting ends at its limit, and says so', async () => {
  for (let n = 0; n < 105; n++) await post(`Buoy ${n}`, 'afloat')
  const { counts } = await search('q=buoy&counts=true')
  expect(counts.is_partial).toBe(true)
  expect(counts.post).toBeGreaterThanOrEqual(100)
  expect(await (await hub.fetch('/search?q=buoy')).text()).toMatch(
    /Posts<span class="meta"> \d+\+</,
  )
})

test.each([
  ['walnot', 'walnut'],
  ['wlanut', 'walnut'],
  ['walnutt', 'walnut'],
  ['alnut', 'walnut'],
  ['walnot catalogue', 'walnut catalogue'],
])('H8: a search for %s, which nobody wrote, offers %s', async (typed, meant) => {
  const query = `q=${encodeURIComponent(typed)}`
  const { results, did_you_mean, cost } = await search(query, ada.key)
  expect(results).toEqual([])
  expect(did_you_mean).toBe(meant)
  // a row for each spelling of each word
  expect(cost.rowsRead).toBeLessThan(1_000)
  const html = await (await hub.fetch(`/search?${query}`)).text()
  expect(html).toContain(`<a class="ul" href="/search?q=${meant.replace(' ', '+')}">${meant}</a>`)
})

test('H8: a search that found something, or whose words are all known, offers nothing', async () => {
  expect((await search('q=ferry')).did_you_mean).toBeNull()
  expect((await search('q=walnut+ferry')).did_you_mean).toBeNull()
  expect((await search('q=zzzzzz')).did_you_mean).toBeNull()
})

test('T21: no word of a community that the reader may not read is offered', async () => {
  await hub.call('/communities', {
    key: adminKey,
    body: { name: 'board', description: 'Closed', visibility: 'private' },
  })
  await post('Merger', 'with Zephyrine', 'board', adminKey)
  expect((await search('q=zephyrina', adminKey)).did_you_mean).toBe('zephyrine')
  expect((await search('q=zephyrina', ada.key)).did_you_mean).toBeNull()
})

test('H8: spellings are those that one error leads to', () => {
  const spellings = listSpellings('tide')
  expect(spellings).toEqual(expect.arrayContaining(['ide', 'tied', 'tidy', 'tides', 'stide']))
  expect(spellings).not.toContain('tide')
  expect(spellings).not.toContain('tidings')
  expect(spellings.length).toBeLessThan(60 * 4)
})
