/** Brave's search API with its documented shapes, in Node over real HTTP; the query selects a failure. */
import { formsOf } from './forms.ts'
import { listen } from './listen.ts'

interface Answer {
  status?: number
  body: unknown
  headers?: Record<string, string>
}

const refuse = (status: number, code: string, detail: string, headers = {}): Answer => ({
  status,
  body: { type: 'ErrorResponse', error: { id: 'e1', status, code, detail, meta: {} }, time: 1 },
  headers,
})

const page = (n: number) => ({
  title: `Page ${n} about <strong>tin</strong> &amp; more`,
  url: `https://example.org/${n}`,
  is_source_local: false,
  is_source_both: false,
  description: `Tin is <strong>metal</strong> number ${n}. ${'It melts early. '.repeat(200)}`,
  age: '3 days ago',
  page_age: '2026-11-18T00:00:00',
  family_friendly: true,
  language: 'en',
  profile: { name: 'Example', url: 'https://example.org', img: 'https://imgs.search.brave.com/x' },
  meta_url: { scheme: 'https', netloc: 'example.org', hostname: 'example.org', favicon: 'x' },
  thumbnail: { src: 'https://imgs.search.brave.com/y', original: 'https://example.org/y.png' },
})

/** Requests per query: the first one of `busy` is rate limited. */
const asked = new Map<string, number>()

const failures: Record<string, (times: number) => Answer | null> = {
  busy: (times) =>
    times > 1
      ? null
      : refuse(429, 'RATE_LIMITED', 'Request rate limit exceeded for plan.', {
          'x-ratelimit-remaining': '0, 1200',
          'x-ratelimit-reset': '0, 1419704',
        }),
  quota: () =>
    refuse(429, 'QUOTA_LIMITED', 'Quota of the month is used up.', {
      // Both windows are used up: the longer one counts.
      'x-ratelimit-remaining': '0, 0',
      'x-ratelimit-reset': '1, 86400',
    }),
  badkey: () =>
    refuse(422, 'SUBSCRIPTION_TOKEN_INVALID', 'The provided subscription token is invalid.'),
  plan: () => refuse(400, 'OPTION_NOT_IN_PLAN', 'The option is not subscribed in the plan.'),
  down: () => ({
    status: 502,
    body: '<html>Bad gateway</html>',
    headers: { 'content-type': 'text/html' },
  }),
  html: () => ({ body: '<html><title>Hello</title>', headers: { 'content-type': 'text/html' } }),
  odd: () => ({ body: { web: { results: 'none' } } }),
}

/** Returns the caller's key in every text field. */
const leak = (key: string): Answer => ({
  body: {
    web: {
      results: formsOf(key).map((form) => ({
        title: form,
        url: `https://example.org/?${encodeURIComponent(form)}`,
        description: `${'x'.repeat(590)} ${form}`,
        age: form,
      })),
    },
  },
})

function search(query: URLSearchParams, key: string): Answer {
  const q = query.get('q') ?? ''
  const times = (asked.get(q) ?? 0) + 1
  asked.set(q, times)
  if (q === 'leak') return leak(key)
  if (q === 'leakerror') return refuse(403, 'FORBIDDEN', formsOf(key).join(' '))
  const failure = failures[q.split('-')[0] ?? '']?.(times)
  if (failure) return failure
  const results = Array.from({ length: 20 }, (_, n) => page(n + 1))
  const hasSummary = query.get('summary') === '1' && q !== 'nothing'
  return {
    body: {
      type: 'search',
      query: { original: q, more_results_available: true, spellcheck_off: false },
      mixed: { type: 'mixed', main: [] },
      web: { type: 'search', results, family_friendly: true },
      ...(hasSummary && { summarizer: { type: 'summarizer', key: JSON.stringify({ query: q }) } }),
      // For tests: what was sent.
      echo: Object.fromEntries(query),
    },
  }
}

function summarize(query: URLSearchParams): Answer {
  const { query: q } = JSON.parse(query.get('key') ?? '{}')
  if (q === 'failing') return { body: { type: 'summarizer', status: 'failed', summary: null } }
  return {
    body: {
      type: 'summarizer',
      status: 'complete',
      title: `About ${q}`,
      summary: [
        { type: 'token', data: 'The metal ' },
        { type: 'enum_item', data: { uuid: 'u1', name: 'tin', text: 'tin', images: [] } },
        { type: 'token', data: ' melts at 232 °C.' },
      ],
      enrichments: {
        raw: 'x',
        images: [],
        qa: [],
        entities: [],
        context: [{ title: 'Tin', url: 'https://example.org/tin', meta_url: {} }],
      },
      followups: ['And lead?'],
    },
  }
}

export const startFakeBrave = () =>
  listen((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://brave')
    const key = String(request.headers['x-subscription-token'] ?? '')
    const hasKey = key.length >= 8
    const answers: Record<string, (query: URLSearchParams, key: string) => Answer> = {
      '/res/v1/web/search': search,
      '/res/v1/summarizer/search': summarize,
    }
    const answer = hasKey
      ? (answers[pathname]?.(searchParams, key) ?? refuse(404, 'NOT_FOUND', 'No such path.'))
      : refuse(422, 'VALIDATION', 'x-subscription-token: field required')
    const { status = 200, body, headers } = answer
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body))
  })
