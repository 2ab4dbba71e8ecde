import { beforeAll, describe, expect, test, vi } from 'vitest'
import { brave } from '../../../src/shared/config'
import { connectService, externalUrls } from '../../support/external-services'
import { setUpTools } from '../../support/set-up-tools'

let tools: ReturnType<typeof setUpTools>
beforeAll(async () => {
  const baseUrl = `${externalUrls.brave}/res/v1`
  const credential = 'BSA0123456789abcdef'
  tools = setUpTools({}, await connectService({ server: 'brave', baseUrl, credential }))
})

const fail = async (query: string, tool = 'search') => {
  const { text, isError } = await tools.call(`brave_${tool}`, { query })
  expect(isError, text).toBe(true)
  return text
}

test('M1, M10: the web is searched, and pages come with plain passages and addresses', async () => {
  const sent = vi.spyOn(globalThis, 'fetch')
  const args = {
    query: 'tin & lead',
    count: 3,
    page: 2,
    freshness: 'week',
    country: 'DE',
    language: 'de',
  }
  const found = await tools.answer('brave_search', args)
  expect(found).toMatchObject({ page: 2, has_more: true })
  expect(found.results).toHaveLength(3)
  expect(found.results[0]).toEqual({
    title: 'Page 1 about tin & more',
    url: 'https://example.org/1',
    passage: expect.stringMatching(/^Tin is metal number 1\. It melts early\. .*…$/),
    age: '3 days ago',
  })
  expect(found.results[0].passage.length).toBe(brave.passageCharsMax + 1)
  const { search } = new URL(String(sent.mock.calls[0]?.[0]))
  sent.mockRestore()
  expect(Object.fromEntries(new URLSearchParams(search))).toEqual({
    q: 'tin & lead',
    count: '3',
    offset: '1',
    freshness: 'pw',
    country: 'DE',
    search_lang: 'de',
    text_decorations: 'false',
    result_filter: 'web',
  })
})

test('M1: a question is answered by a summary with its sources', async () => {
  expect(await tools.answer('brave_summarize', { query: 'tin' })).toEqual({
    title: 'About tin',
    summary: 'The metal tin melts at 232 °C.',
    sources: [{ title: 'Tin', url: 'https://example.org/tin' }],
  })
  for (const query of ['nothing', 'failing']) {
    expect(await fail(query, 'summarize')).toMatch(
      /^Error: Brave has no summary for this question\./,
    )
  }
})

test('M14: one request a second too many is asked once more', async () => {
  const query = `busy-${crypto.randomUUID()}`
  const { results } = await tools.answer('brave_search', { query })
  expect(results).toHaveLength(brave.resultsDefault)
})

describe('what Brave refuses is an error that a model can act on', () => {
  test.each([
    [
      'quota',
      /^Error: .*: QUOTA_LIMITED \(429\)\. Brave says: Quota of the month is used up\. The limit of the plan .*Retry after 86400 s\.$/,
    ],
    [
      'badkey',
      /^Error: .*: SUBSCRIPTION_TOKEN_INVALID \(422\)\. Brave says: The provided subscription token is invalid\. An admin .*set the key again\.$/,
    ],
    [
      'plan',
      /^Error: .*: OPTION_NOT_IN_PLAN \(400\)\. Brave says: The option is not subscribed in the plan\.$/,
    ],
    ['down', /^Error: Brave refused the request: \(502\)\. Try again later\.$/],
    [
      'html',
      /^Error: The service brave answered with a web page\. It begins: Hello\. .*sign-in\.$/,
    ],
    ['odd', /^Error: Brave answered in an unknown format\.$/],
  ])('M14: %s', async (query, words) => {
    expect(await fail(query)).toMatch(words)
  })

  test('M1: a question that Brave would not take is not sent', async () => {
    expect(await fail('word '.repeat(51))).toMatch(/at most 50 words/)
  })
})
