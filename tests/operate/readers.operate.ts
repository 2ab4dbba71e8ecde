import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Hub } from '../../scripts/hub-runtime.mjs'
import { root } from '../../scripts/local-state.mjs'
import { startHub } from '../node/start-hub.ts'
import { python } from './install-programs.ts'
import {
  findFreePort,
  makeFolder,
  readDeployFile,
  replace,
  runCommand,
  startProgram,
} from './operated-hub.ts'

/** What reads a private hub with a key: Debian's Prometheus, and its parser of feeds. */
const { folder, remove } = makeFolder()
let hub: Hub
let key = ''

const send = async <Answer>(path: string, body: object, by = hub.adminKey): Promise<Answer> => {
  const headers = { authorization: `Bearer ${by}`, 'content-type': 'application/json' }
  const answer = await fetch(`${hub.url}/api/v1${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  expect(answer.status).toBe(201)
  return (await answer.json()) as Answer
}

beforeAll(async () => {
  const env = { ROOKERY_LOG_LEVEL: 'error', ROOKERY_PUBLIC: 'false' }
  hub = await startHub({ stateDir: join(folder, 'state'), env })
  const { account } = await send<{ account: { api_key: string } }>('/accounts', {
    name: 'reader',
    kind: 'human',
  })
  const body = { label: 'readers', scopes: ['read'] }
  const made = await send<{ key: { api_key: string } }>('/me/keys', body, account.api_key)
  key = made.key.api_key
})
afterAll(async () => {
  await hub?.stop()
  remove()
})

test('O7: the rules are valid, each alert has a test, and they use metrics that the hub has', async () => {
  const rules = join(root, 'deploy/alerts.yml')
  console.log(runCommand('promtool', ['check', 'rules', rules]).trim())
  const tests = join(folder, 'alerts.test.yml')
  const text = readFileSync(join(root, 'tests/operate/alerts.yml'), 'utf8')
  writeFileSync(tests, replace(text, 'ALERTS', rules))
  console.log(runCommand('promtool', ['test', 'rules', tests]).trim())
  const alerts = [...readDeployFile('alerts.yml').matchAll(/- alert: (\w+)/g)].map(
    ([, name]) => name,
  )
  expect(alerts.length).toBeGreaterThan(0)
  for (const name of alerts) {
    // Once where it is silent, once where it is raised.
    expect(text.match(new RegExp(`alertname: ${name}\\b`, 'g'))?.length, name).toBeGreaterThan(1)
  }
  const answer = await fetch(`${hub.url}/metrics`, { headers: { authorization: `Bearer ${key}` } })
  const metrics = await answer.text()
  for (const [name] of readDeployFile('alerts.yml').matchAll(/\brookery_[a-z0-9_]+/g)) {
    expect(metrics).toMatch(new RegExp(`^${name} `, 'm'))
  }
})

test('O7: Prometheus scrapes a private hub with a key, and loads the rules', async () => {
  const port = await findFreePort()
  const keyPath = join(folder, 'key')
  writeFileSync(keyPath, key, { mode: 0o600 })
  writeFileSync(join(folder, 'alerts.yml'), readDeployFile('alerts.yml'))
  let config = readDeployFile('prometheus.yml')
  config = replace(config, '/etc/prometheus/rookery-key', keyPath)
  config = replace(config, '127.0.0.1:8787', new URL(hub.url).host)
  config = replace(config, '30s', '1s')
  const path = join(folder, 'prometheus.yml')
  writeFileSync(path, config)
  console.log(runCommand('promtool', ['check', 'config', path]).trim())
  const storage = `--storage.tsdb.path=${join(folder, 'prometheus')}`
  const args = [`--config.file=${path}`, storage, `--web.listen-address=127.0.0.1:${port}`]
  const prometheus = await startProgram('prometheus', args, { port })
  try {
    const ask = async (query: string) => {
      const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`
      const { data } = (await (await fetch(url)).json()) as {
        data?: { result: { value: [number, string] }[] }
      }
      return data?.result[0]?.value[1]
    }
    await expect.poll(() => ask('up{job="rookery"}')).toBe('1')
    await expect.poll(() => ask('rookery_communities')).toMatch(/^[1-9]/)
    const loaded = await fetch(`http://127.0.0.1:${port}/api/v1/rules`)
    const { data } = (await loaded.json()) as { data: { groups: { rules: { name: string }[] }[] } }
    const names = data.groups.flatMap(({ rules }) => rules.map(({ name }) => name))
    expect(names).toContain('RookeryDown')
  } finally {
    await prometheus.stop()
  }
})

const readFeed = `
import feedparser, json, sys
feed = feedparser.parse(sys.argv[1], request_headers={"Authorization": "Bearer " + sys.argv[2]})
print(json.dumps({"status": feed.status, "version": feed.version, "bozo": bool(feed.bozo), "error": str(feed.get("bozo_exception", "")),
  "titles": [entry.title for entry in feed.entries], "links": [entry.link for entry in feed.entries]}))
`

test('O3 O7: a parser of feeds reads all feeds without an error', async () => {
  const title = 'Herons & <spoons> "at" dawn 🐦'
  const content = 'A *text* with `code`, an & and a\n\n- list'
  const body = { community: 'general', title, content }
  const { post } = await send<{ post: { id: string } }>('/posts', body)
  await send(`/posts/${post.id}/comments`, { content: 'A comment & more' })
  for (const path of ['/feed.atom', '/m/general.atom', '/a/admin.atom', `/p/${post.id}.atom`]) {
    const feed = JSON.parse(runCommand(python, ['-c', readFeed, `${hub.url}${path}`, key]))
    expect(feed, path).toMatchObject({ status: 200, version: 'atom10', bozo: false, error: '' })
    expect(feed.titles.join(), path).toContain(path.startsWith('/p/') ? '' : title)
    expect(feed.links.length, path).toBeGreaterThan(0)
    for (const link of feed.links) expect(link, path).toMatch(/^http:\/\//)
  }
})
