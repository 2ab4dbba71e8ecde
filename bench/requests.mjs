import { median } from './activation.mjs'
import { readD1Cost, withHub } from './hub.mjs'
import { readCpuMs } from './miniflare.mjs'

const addressHeader = 'bench-address'
/** Fewer than the tightest rate limit allows an address in a minute. */
const perAddress = 100
const authors = 20
const commentsPerPost = 2
const importChunk = 100

/**
 * The hub's own requests, one after the other, as the hub on this machine answers them: requests a
 * second, the median and the 99th percentile, CPU of workerd for each, D1 round trips and rows read.
 *
 * @param {number} scale
 * @param {number} posts in the hub, each with two comments
 */
export function measureRequests(scale, posts = 1000) {
  const bindings = { ROOKERY_CLIENT_ADDRESS_HEADER: addressHeader }
  return withHub(
    {},
    async (hub, api) => {
      for (let first = 0; first < posts; first += importChunk) {
        const count = Math.min(importChunk, posts - first)
        await api(
          'POST',
          '/import',
          Array.from({ length: count }, (_, at) => describe(first + at)),
        )
      }
      const ids = await listIds(api)
      const times = Math.max(20, Math.round(200 * scale))
      const rows = []
      for (const [name, request] of Object.entries(describeRequests(ids))) {
        // A rate limit allows an account fewer writes than reads.
        const isWrite = name.startsWith('create')
        rows.push(...(await measure(hub, name, request, isWrite ? Math.min(times, 60) : times)))
      }
      return rows
    },
    bindings,
  )
}

/**
 * Returns the ids of all posts, oldest first.
 *
 * @param {import('./hub.mjs').Api} api
 */
async function listIds(api) {
  /** @type {string[]} */
  const ids = []
  for (let cursor = ''; cursor !== null; ) {
    const { body } = await api('GET', `/posts?sort=new&limit=100&cursor=${cursor}`)
    ids.push(...body.posts.map((/** @type {{ id: string }} */ post) => post.id))
    cursor = body.next_cursor
  }
  return ids.reverse()
}

/**
 * @param {string[]} ids of posts
 * @returns {Record<string, (number: number) => { path: string, body?: object }>}
 */
const describeRequests = (ids) => {
  const id = (/** @type {number} */ number) => ids[(number * 37) % ids.length]
  return {
    hot: () => ({ path: '/api/v1/posts?sort=hot&limit=25' }),
    new: () => ({ path: '/api/v1/posts?sort=new&limit=25' }),
    post: (number) => ({ path: `/api/v1/posts/${id(number)}` }),
    comments: (number) => ({ path: `/api/v1/posts/${id(number)}/comments` }),
    search_rare: (number) => ({ path: `/api/v1/search?q=marker${(number * 37) % ids.length}` }),
    search_common: () => ({ path: '/api/v1/search?q=words' }),
    home: () => ({ path: '/' }),
    thread: (number) => ({ path: `/p/${id(number)}` }),
    create_post: (number) => ({
      path: '/api/v1/posts',
      body: { community: 'general', title: `New ${number}`, content: text(number) },
    }),
    create_comment: (number) => ({
      path: `/api/v1/posts/${id(number)}/comments`,
      body: { content: text(number) },
    }),
  }
}

/**
 * @param {{ url: string, adminKey: string, workerdPid: number }} hub
 * @param {string} name
 * @param {ReturnType<typeof describeRequests>[string]} request
 * @param {number} times
 */
async function measure(hub, name, request, times) {
  /** @type {number[]} */
  const latency = []
  let cost = { roundTrips: 0, rowsRead: 0 }
  const send = async (/** @type {number} */ number) => {
    const { path, body } = request(number)
    const startedAt = performance.now()
    const response = await fetch(`${hub.url}${path}`, {
      headers: {
        [addressHeader]: `10.0.0.${Math.floor(number / perAddress)}`,
        ...(body && {
          authorization: `Bearer ${hub.adminKey}`,
          'content-type': 'application/json',
        }),
      },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    const answer = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${answer.slice(0, 300)}`)
    latency.push(performance.now() - startedAt)
    cost = readD1Cost(response.headers)
  }
  const warmUp = Math.ceil(times / 4)
  for (let number = 0; number < warmUp; number++) await send(number)
  latency.length = 0
  const before = readCpuMs(hub.workerdPid)
  for (let number = warmUp; number < warmUp + times; number++) await send(number)
  const cpu = (readCpuMs(hub.workerdPid) - before) / times
  const seconds = latency.reduce((sum, ms) => sum + ms, 0) / 1000
  const row = (
    /** @type {string} */ of,
    /** @type {number} */ value,
    /** @type {string} */ unit,
  ) => ({
    name: `request.${name}.${of}`,
    value: Number(value.toFixed(2)),
    unit,
  })
  return [
    row('cpu_ms', cpu, 'ms'),
    row('p50_ms', median(latency), 'ms'),
    row('p99_ms', latency.toSorted((a, b) => a - b)[Math.ceil(times * 0.99) - 1] ?? 0, 'ms'),
    row('per_second', times / seconds, 'requests/s'),
    row('d1_round_trips', cost.roundTrips, 'round trips'),
    row('rows_read', cost.rowsRead, 'rows'),
  ]
}

/** @param {number} number */
const postId = (number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

/** @param {number} number */
const text = (number) =>
  `Some words with **weight** and a [link](https://example.com/${number}).\n\n` +
  '- one thing\n- another thing\n\n' +
  `\`marker${number}\` closes what would otherwise be a rather ordinary paragraph of text.`

/** @param {number} number */
function describe(number) {
  const createdAt = new Date(Date.UTC(2026, 0, 1) + number * 60_000).toISOString()
  const author = (/** @type {number} */ of) => ({ name: `author${of % authors}` })
  return {
    success: true,
    post: {
      id: postId(number),
      title: `Post ${number}`,
      content: text(number),
      upvotes: (number * 7) % 50,
      downvotes: number % 3,
      created_at: createdAt,
      submolt: { name: 'general' },
      author: author(number),
    },
    comments: Array.from({ length: commentsPerPost }, (_, at) => ({
      id: `00000000-0000-4000-9000-${String(number * commentsPerPost + at).padStart(12, '0')}`,
      content: text(number + at),
      created_at: createdAt,
      author: author(number + at + 1),
    })),
  }
}
