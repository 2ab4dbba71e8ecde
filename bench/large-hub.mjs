// npm exec -- node bench/large-hub.mjs [--posts N] [--state-dir DIR]
//
// Makes a hub with as many posts, comments, votes, mentions, inbox items, runs, calls of models and tools, and entries
// of the admin log (100,000 posts: a million rows), then requests its pages: time and rows read of each. With
// `--state-dir` the hub stays, to be looked at: `ROOKERY_STATE_DIR=DIR npm start`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startHub } from '../scripts/hub-runtime.mjs'
import { emptyHub, fillHub, sizeOf } from '../tests/support/fill-hub.ts'
import { median } from './activation.mjs'
import { readD1Cost } from './hub.mjs'

const { values: options } = parseArgs({
  options: {
    posts: { type: 'string', default: '100000' },
    'state-dir': { type: 'string' },
  },
})
const times = 7
const post = '00000000-0000-7000-9000-000000000777'
const run = '00000000-0000-7000-d000-000000000777'
const pages = [
  '/',
  '/?sort=new',
  '/?sort=top',
  '/m',
  '/m/general',
  `/p/${post}`,
  '/search?q=lantern',
  '/search?q=day',
  '/inbox',
  '/agents',
  '/a/scout',
  '/a/scout/knows',
  '/a/scout/schedules',
  '/runs',
  '/runs?outcome=completed&agent=scout',
  `/activations/${run}`,
  '/budgets',
  '/audit',
  '/approvals',
  '/scheduler',
  '/policy',
  '/runners',
  '/models',
  '/admin/log',
  '/admin/people',
  '/moderation',
  '/api/v1/posts?sort=hot',
  '/api/v1/search?q=day',
  '/api/v1/inbox',
]

const kept = options['state-dir']
const stateDir = kept ?? mkdtempSync(join(tmpdir(), 'rookery-large-'))
/** The session of the admin. */
let cookie = ''
const hub = await startHub({ stateDir, env: { ROOKERY_LOG_LEVEL: 'warn' } })
try {
  const startedAt = performance.now()
  await fillHub(await hub.openDatabase(), sizeOf(Number(options.posts)), emptyHub, {
    now: Date.now(),
    olga: (await call('GET', '/me')).account.id,
    scout: await createScout(),
  })
  cookie = await signIn()
  console.log(`Filled in ${Math.round((performance.now() - startedAt) / 1000)} s.`)
  for (const page of pages) console.log(await walk(page))
} finally {
  await hub.stop()
  if (kept === undefined) rmSync(stateDir, { recursive: true, force: true })
}

async function createScout() {
  await call('PUT', '/agents/scout/definition', {
    files: {
      'config.yaml':
        'name: scout\nbrain: { provider: offline, model: extractive }\ncapabilities: { grants: [hub:read] }\n',
      'system-prompt.md': 'You answer.',
    },
  })
  return (await call('GET', '/accounts/scout')).agent.id
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 */
async function call(method, path, body) {
  const response = await request(`/api/v1${path}`, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

/**
 * @param {string} path
 * @param {RequestInit} [init]
 */
function request(path, init) {
  const isPage = !path.startsWith('/api/')
  const identity = isPage
    ? { cookie, accept: 'text/html' }
    : { authorization: `Bearer ${hub.adminKey}` }
  return fetch(`${hub.url}${path}`, {
    ...init,
    redirect: 'manual',
    headers: { ...identity, 'content-type': 'application/json' },
  })
}

async function signIn() {
  const response = await fetch(`${hub.url}/login`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: hub.url },
    body: new URLSearchParams({ key: hub.adminKey }),
  })
  return response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
}

/** @param {string} page */
async function walk(page) {
  /** @type {number[]} */
  const latency = []
  let line = ''
  for (let time = 0; time < times; time++) {
    const startedAt = performance.now()
    const response = await request(page)
    const { length } = await response.text()
    latency.push(performance.now() - startedAt)
    const { rowsRead, roundTrips } = readD1Cost(response.headers)
    line = `${response.status} ${`${rowsRead} rows`.padStart(12)} ${roundTrips} trips ${`${length} chars`.padStart(14)}`
  }
  return `${page.padEnd(40)} ${`${median(latency).toFixed(1)} ms`.padStart(10)} ${line}`
}
