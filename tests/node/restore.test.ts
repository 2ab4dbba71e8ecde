import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { HubClient } from '../../client/index.ts'
import { readManifest } from '../../scripts/backup/format.mjs'
import { restoreBackup } from '../../scripts/backup/restore-backup.mjs'
import { readRows, release, writeBackup } from '../../scripts/backup/write-backup.mjs'
import { buildWorker } from '../../scripts/build-worker.mjs'
import type { Hub } from '../../scripts/hub-runtime.mjs'
import { seedAgents } from '../../scripts/seed-agents.mjs'
import { samples } from '../hub/media/samples.ts'
import { startHub } from './start-hub.ts'

const folder = mkdtempSync(join(tmpdir(), 'rookery-restore-'))
const backup = join(folder, 'backup')
const hubs: Hub[] = []
let bundlePath = ''
let source: Hub
const keys: Record<string, string> = {}
/** Key of an account with the role admin. */
let chief = ''
let paths: string[] = []
/** Addresses of images: one that everybody sees, one of a private community, one that no text shows. */
const images: string[] = []
const silent = { report: () => {} }

// what is loaded into the hubs is written down there
process.env.ROOKERY_STATE_DIR = folder

const start = async (name: string): Promise<Hub> => {
  const hub = await startHub({ stateDir: join(folder, name), bundlePath })
  hubs.push(hub)
  return hub
}
const openClient = (hub: Hub, fetch?: (request: Request) => Promise<Response>) =>
  new HubClient({ url: hub.url, key: hub.adminKey, attempts: 1, ...(fetch && { fetch }) })

async function send(hub: Hub, key: string, method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const sent = body && { body: JSON.stringify(body) }
  const response = await fetch(`${hub.url}/api/v1${path}`, { method, headers, ...sent })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: JSON.parse(text) }
}

/** What a search finds. Ranks count what was ever in the index, and a restored one is new. */
const toIds = ({ results }: { results: { type: string; id: string }[] }) =>
  results.map(({ type, id }) => `${type} ${id}`).sort()

/** Every answer as the admin and as two people get it. */
async function readAll(hub: Hub): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {}
  for (const [name, key] of Object.entries({ admin: hub.adminKey, ...keys })) {
    for (const path of paths) {
      const { status, body } = await send(hub, key, 'GET', path)
      answers[`${name} ${path}`] = { status, body: path.startsWith('/search') ? toIds(body) : body }
    }
  }
  for (const [name, key] of Object.entries({ admin: hub.adminKey, ...keys })) {
    for (const path of images) {
      const headers = { authorization: `Bearer ${key}` }
      const response = await fetch(hub.url + path, { headers })
      const bytes = Buffer.from(await response.arrayBuffer()).toString('base64')
      answers[`${name} ${path}`] = { status: response.status, bytes }
    }
  }
  return answers
}

/** Uploads an image, and shows it in a community. */
async function showImage(hub: Hub, key: string, community: string | null): Promise<void> {
  const sent = await fetch(`${hub.url}/api/v1/media`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: samples.jpeg,
  })
  const { media } = (await sent.json()) as { media: { url: string } }
  images.push(media.url)
  const content = `![A plum](${media.url})`
  if (community) await send(hub, key, 'POST', '/posts', { community, title: 'A plum', content })
}

async function waitForReply(hub: Hub, postId: string) {
  const findReply = async () => {
    const { body } = await send(hub, hub.adminKey, 'GET', `/posts/${postId}/comments`)
    expect(JSON.stringify(body)).toContain('"scout"')
  }
  await vi.waitFor(findReply, { timeout: 120_000, interval: 50 })
}

const strange = [
  'plain',
  'ünïcödé 🪶 "quotes" \\ back',
  "it's\nlines\u2028and\u2029more",
  '0012',
  '{"a":1}',
]
let seed = 7
const pick = <Item>(items: readonly Item[]): Item => {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
  return items[seed % items.length] as Item
}

/** More agents than one request restores. */
const crowd = 120

async function writeCrowd(hub: Hub): Promise<void> {
  const db = await hub.openDatabase()
  const names = JSON.stringify(Array(crowd).fill(0))
  await db.batch([
    db
      .prepare(
        `INSERT INTO accounts (id, name, kind, created_at)
         SELECT format('00000000-0000-7000-a000-%012d', key), 'crowd-' || key, 'agent', 0 FROM json_each(?)`,
      )
      .bind(names),
    db.prepare(
      `INSERT INTO agents (account_id, definition_version, definition_etag, model, grants, interval_ms, updated_at)
       SELECT id, 1, 'etag', 'offline/extractive', '[]', 0, 0 FROM accounts WHERE name LIKE 'crowd-%'`,
    ),
  ])
}

async function write(hub: Hub): Promise<void> {
  const admin = (method: string, path: string, body?: object) =>
    send(hub, hub.adminKey, method, path, body)
  await seedAgents(openClient(hub), hub.url)
  for (const name of ['mira', 'piet']) {
    const { body } = await admin('POST', '/accounts', {
      name,
      kind: 'human',
      role: 'member',
    })
    keys[name] = body.account.api_key
  }
  const { body: registered } = await admin('POST', '/accounts', {
    name: 'chief',
    kind: 'human',
    role: 'admin',
  })
  chief = registered.account.api_key
  const { mira = '', piet = '' } = keys
  await send(hub, mira, 'POST', '/communities', { name: 'orchard', description: strange[1] })
  await send(hub, mira, 'PATCH', '/me', { description: strange[2] })
  await send(hub, mira, 'POST', '/communities', { name: 'cellar', visibility: 'private' })
  for (const community of ['orchard', 'cellar', null]) await showImage(hub, mira, community)
  const posts: string[] = []
  for (let each = 0; each < 10; each++) {
    const place = {
      community: pick(['general', 'orchard']),
      title: `Plums ${each} ${pick(strange)}`,
    }
    const { body } = await send(hub, pick([mira, piet]), 'POST', '/posts', {
      ...place,
      content: pick(strange),
    })
    posts.push(body.post.id)
    const comment = await send(hub, piet, 'POST', `/posts/${pick(posts)}/comments`, {
      content: `About plums: ${pick(strange)}`,
    })
    expect(comment.status).toBe(201)
    await send(hub, mira, 'POST', `/posts/${pick(posts)}/upvote`)
  }
  const [deleted = '', asked = ''] = posts
  await send(hub, hub.adminKey, 'DELETE', `/posts/${deleted}`)
  await send(hub, mira, 'POST', '/conversations', { to: 'piet', content: 'Between us' })
  await send(hub, mira, 'POST', `/posts/${asked}/comments`, {
    content: '@scout what of the plums?',
  })
  await waitForReply(hub, asked)
  const { body: runs } = await admin('GET', '/activations')
  const run: string = runs.activations[0].id
  paths = [
    '/agents',
    '/communities',
    '/posts?sort=new',
    '/posts?sort=top',
    '/feed',
    '/me',
    ...posts.flatMap((id) => [`/posts/${id}`, `/posts/${id}/comments`]),
    ...['plums', 'quotes', 'lines', 'scout', 'orchard'].map((q) => `/search?q=${q}&limit=50`),
    '/conversations',
    '/conversations/requests',
    '/activations',
    `/activations/${run}`,
    '/audit',
    '/budgets',
    '/credentials',
    '/agents/scout/definition',
    '/agents/scout/sessions',
    '/accounts/mira',
    '/me/keys',
    '/me',
    '/inbox',
  ]
}

beforeAll(async () => {
  bundlePath = await buildWorker()
  source = await start('source')
  await write(source)
  await writeCrowd(source)
})

afterAll(async () => {
  for (const hub of hubs) await hub.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('H19: a backup restored into an empty hub answers every request as the hub did, and an interruption leaves the target closed', async () => {
  const before = await readAll(source)
  expect(JSON.stringify(before)).toContain('Between us')
  const seen = Object.entries(before).filter(([request]) => request.includes(' /media/'))
  const statuses = seen.map(([, answer]) => (answer as { status: number }).status)
  expect(statuses).toEqual([200, 404, 404, 200, 200, 200, 200, 404, 404])
  const manifest = await writeBackup(openClient(source), backup, { holdSeconds: 60, ...silent })
  expect(readManifest(backup)).toEqual(manifest)
  expect(manifest.tables.find(({ name }) => name === 'posts')?.lines).toBeGreaterThanOrEqual(10)
  expect(manifest.tables.map(({ name }) => name)).not.toContain('search_index')
  expect(manifest.objects.lines).toBeGreaterThan(crowd)
  expect(await readAll(source)).toEqual(before)

  const target = await start('target')
  // a hub that was started with agents counts as empty
  await seedAgents(openClient(target), target.url)
  let calls = 0
  const breaking = (request: Request) =>
    ++calls > 40 ? Promise.reject(new TypeError('fetch failed')) : fetch(request)
  await expect(restoreBackup(openClient(target, breaking), backup, silent)).rejects.toThrow()
  const refused = await send(target, target.adminKey, 'POST', '/posts', {
    community: 'general',
    title: 'Too early',
  })
  expect(refused).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } })
  expect(refused.body.error).toContain('restore')

  await restoreBackup(openClient(target), backup, silent)
  expect(await readAll(target)).toEqual(before)

  // it works on: search finds what is new, triggers hold, and the agent remembers and answers
  const { body } = await send(target, keys.mira ?? '', 'POST', '/posts', {
    community: 'general',
    title: 'Afterwards',
    content: '@scout what of the quinces?',
  })
  await waitForReply(target, body.post.id)
  const { body: found } = await send(target, target.adminKey, 'GET', '/search?q=afterwards')
  expect(JSON.stringify(found)).toContain('Afterwards')
  const listTriggers = async (hub: Hub) => {
    const db = await hub.openDatabase()
    return (
      await db.prepare("SELECT sql FROM sqlite_master WHERE type = 'trigger' ORDER BY 1").all()
    ).results
  }
  expect(await listTriggers(target)).toEqual(await listTriggers(source))
})

test('H19: a hub that is not empty, a newer backup, and a damaged one are refused before anything changes', async () => {
  const posts = await send(source, source.adminKey, 'GET', '/posts?sort=new')
  const restore = () => restoreBackup(openClient(source), backup, silent)
  await expect(restore()).rejects.toThrow('not empty')
  const manifestPath = join(backup, 'manifest.json')
  const text = readFileSync(manifestPath, 'utf8')
  const manifest = JSON.parse(text)
  const with_ = async (changed: object, words: string) => {
    writeFileSync(manifestPath, JSON.stringify({ ...manifest, ...changed }))
    await expect(restore()).rejects.toThrow(words)
  }
  await with_({ migrations: [...manifest.migrations, '9999_later.sql'] }, 'newer version')
  await with_({ migrations: manifest.migrations.slice(0, -1) }, 'older version')
  await with_({ version: 2 }, 'newer version')
  await with_({ objects: { ...manifest.objects, sha256: '0' } }, 'damaged')
  writeFileSync(manifestPath, text)
  expect(await send(source, source.adminKey, 'GET', '/posts?sort=new')).toEqual({
    ...posts,
    headers: expect.anything(),
  })
})

test('H19: during a hold reading goes on, writes and runs wait, and only the admin key reads the rows', async () => {
  const client = openClient(source)
  let id = ''
  for (let ready = false; !ready; ) {
    const begun = await client.call('POST /backup', {
      body: { backup: id || null, hold_seconds: 60 },
    })
    id = begun.backup
    ready = begun.is_ready
  }
  const post = { community: 'general', title: 'Held', content: '@scout what of the plums?' }
  // what is in it no admin can read
  for (const [method, path] of [
    ['POST', '/backup'],
    ['GET', `/backup/rows?backup=${id}&table=direct_messages`],
    ['GET', `/backup/objects?backup=${id}`],
    ['GET', '/backup/files'],
    ['DELETE', `/backup/${id}`],
  ] as const) {
    const sent = method === 'POST' ? {} : undefined
    expect((await send(source, chief, method, path, sent)).status, path).toBe(403)
  }
  const held = await send(source, source.adminKey, 'POST', '/posts', post)
  expect(held).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } })
  expect(Number(held.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await send(source, source.adminKey, 'GET', '/posts?sort=new')).status).toBe(200)
  await expect(client.call('POST /backup', { body: {} })).rejects.toMatchObject({ status: 409 })
  const pages = []
  for await (const rows of readRows(client, id, 'posts')) pages.push(...rows)
  expect(pages.length).toBeGreaterThanOrEqual(10)
  await release(client, id)
  await expect(readRows(client, id, 'posts').next()).rejects.toThrow('ended')
  const { status, body } = await send(source, source.adminKey, 'POST', '/posts', post)
  expect(status).toBe(201)
  await waitForReply(source, body.post.id)
})
