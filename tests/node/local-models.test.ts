import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import type { Hub } from '../../scripts/hub-runtime.mjs'
import { describeModels, findLocalModels } from '../../scripts/local-models.mjs'
import { type FakeModelServer, startFakeModelServer } from '../support/fake-model-server'
import { startHub } from './start-hub.ts'

const servers: Server[] = []
const hubs: Hub[] = []
const folders: string[] = []
const models: FakeModelServer[] = []

/** Starts a server on loopback; returns its port and the paths that it was asked for. */
async function listen(answer: RequestListener): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    answer(request, response)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as AddressInfo).port, asked }
}

const sendJson =
  (body: unknown, status = 200): RequestListener =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
    response.end(JSON.stringify(body))
  }
const list = (...ids: unknown[]) => ({ object: 'list', data: ids.map((id) => ({ id })) })
const html: RequestListener = (_, response) => {
  response.writeHead(200, { 'content-type': 'text/html' })
  response.end('<!doctype html><title>Sign in</title><form method="post"></form>')
}

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})
afterAll(async () => {
  for (const hub of hubs) await hub.stop()
  for (const model of models) await model.close()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

test('servers that answer with a list of models are found, those that chat first', async () => {
  const lmStudio = await listen(sendJson(list('text-embedding-nomic', 'qwen3-8b')))
  const ollama = await listen((request, response) =>
    (request.url === '/v1/models' ? sendJson(list('qwen3', 'llama3.2', 'qwen3')) : html)(
      request,
      response,
    ),
  )
  expect(
    await find({ name: 'Ollama', port: ollama.port }, { name: 'LM Studio', port: lmStudio.port }),
  ).toEqual([
    {
      name: 'Ollama',
      base_url: `http://127.0.0.1:${ollama.port}/v1`,
      models: ['qwen3', 'llama3.2'],
    },
    {
      name: 'LM Studio',
      base_url: `http://127.0.0.1:${lmStudio.port}/v1`,
      models: ['qwen3-8b', 'text-embedding-nomic'],
    },
  ])
  expect(lmStudio.asked).toEqual(['/v1/models'])
})

test('an Ollama that lists its models under its own path only is found', async () => {
  const { port } = await listen((request, response) =>
    request.url === '/api/tags'
      ? sendJson({ models: [{ name: 'llama3.2:latest' }] })(request, response)
      : sendJson({ error: 'no such path' }, 404)(request, response),
  )
  expect(await find({ name: 'Ollama', port })).toMatchObject([{ models: ['llama3.2:latest'] }])
})

/** However busy the machine is. */
const patience = 120_000
const find = (...servers: { name: string; port: number }[]) => findLocalModels(servers, patience)

const endless = Buffer.alloc(64 * 1024, '[')
const odd: [string, RequestListener][] = [
  ['a page to sign in', html],
  [
    'a page that says it is JSON',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end('<html></html>')
    },
  ],
  ['an error with a list', sendJson(list('qwen3'), 401)],
  ['a list of something else', sendJson({ data: [{ name: 'qwen3' }, null, 7, { id: 7 }] })],
  ['no list', sendJson({ data: { id: 'qwen3' } })],
  ['null', sendJson(null)],
  ['an empty list', sendJson(list())],
  ['names that are no names', sendJson(list('', 'a b', 'x'.repeat(200), '<b>\n', '\u202eqwen'))],
  [
    'a redirect to a list',
    (request, response) =>
      request.url === '/list'
        ? sendJson(list('qwen3'))(request, response)
        : response.writeHead(302, { location: '/list' }).end(),
  ],
  [
    'ten megabytes and more',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const write = () => {
        while (!response.destroyed && response.write(endless));
        response.once('drain', write)
      }
      write()
    },
  ],
  ['a connection that it breaks', (_, response) => response.destroy()],
]

/** Programs whose answers do not end. */
const slow: [string, RequestListener][] = [
  [
    'a list that comes byte by byte',
    (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const drip = setInterval(() => response.write(' '), 20)
      response.once('close', () => clearInterval(drip))
    },
  ],
  ['nothing', () => {}],
]

test.each(odd)('a program that answers with %s is no server of models', async (_, answer) => {
  const { port } = await listen(answer)
  const fine = await listen(sendJson(list('qwen3')))
  const servers = [
    { name: 'Ollama', port },
    { name: 'vLLM', port: fine.port },
  ]
  expect(await find(...servers)).toMatchObject([{ name: 'vLLM', models: ['qwen3'] }])
})

test.each(slow)('a program that answers with %s ends the search', async (_, answer) => {
  const { port } = await listen(answer)
  expect(await findLocalModels([{ name: 'Ollama', port }], 100)).toEqual([])
})

test('a list of thousands of models is cut', async () => {
  const { port } = await listen(
    sendJson(list(...Array.from({ length: 3000 }, (_, at) => `m${at}`))),
  )
  const [found] = await find({ name: 'vLLM', port })
  expect(found?.models).toHaveLength(50)
})

test('the start says which model is used, and what is on this machine in place of the offline one', async () => {
  const found = {
    name: 'Ollama',
    base_url: 'http://127.0.0.1:11434/v1',
    models: ['qwen3', 'llama3.2'],
  }
  const refuse = () => Promise.reject(new Error('It looked.'))
  const describe = (used: string, search: () => Promise<(typeof found)[]>) =>
    describeModels(used, 'http://localhost:8787', search)
  expect(await describe('offline/extractive', async () => [found])).toBe(
    'on this machine: Ollama with qwen3, llama3.2. Use one with a click at http://localhost:8787/models',
  )
  expect(await describe('offline/extractive', async () => [])).toContain('offline model')
  expect(await describe('openai/gpt-6-sol', refuse)).toContain('openai/gpt-6-sol')
})

/** Starts a hub that looks for a server of models at `port`, and counts how often it does. */
async function startSearchingHub(port: number, env: Record<string, string> = {}) {
  const stateDir = mkdtempSync(join(tmpdir(), 'rookery-local-models-'))
  folders.push(stateDir)
  const searched = { count: 0 }
  const hub = await startHub({
    stateDir,
    env: { ROOKERY_LOG_LEVEL: 'error', ...env },
    findModels: () => {
      searched.count++
      return find({ name: 'Ollama', port })
    },
  })
  hubs.push(hub)
  return { hub, searched }
}

/** Signs in to the pages with a key. */
async function signIn(hub: Hub, key: string) {
  const send = (path: string, fields?: Record<string, string>, cookie = '') =>
    fetch(`${hub.url}${path}`, {
      ...(fields && { method: 'POST', body: new URLSearchParams(fields) }),
      headers: { cookie, origin: hub.url, 'sec-fetch-site': 'same-origin' },
      redirect: 'manual',
    })
  const login = await send('/login', { key, next: '/' })
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  return (path: string, fields?: Record<string, string>) => send(path, fields, cookie)
}

const callApi = async (hub: Hub, method: string, path: string, body?: unknown) => {
  const response = await fetch(`${hub.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${hub.adminKey}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return response.json()
}

test('a server on this machine is offered to admins, used after one click, and needs no setting', async () => {
  const model = await startFakeModelServer()
  models.push(model)
  const { hub, searched } = await startSearchingHub(Number(new URL(model.url).port))
  const member = await callApi(hub, 'POST', '/accounts', { name: 'mira', kind: 'human' })
  const asMember = await signIn(hub, member.account.api_key)
  expect((await asMember('/models')).status).toBe(403)
  expect((await fetch(`${hub.url}/models`, { redirect: 'manual' })).status).not.toBe(200)
  expect(searched.count).toBe(0)

  const send = await signIn(hub, hub.adminKey)
  const page = await (await send('/models')).text()
  expect(page).toMatch(/Ollama on this machine:<\/strong> fake-large, fake-small/)
  expect(page.indexOf('On this machine')).toBeLessThan(page.indexOf('Providers</h2>'))
  expect((await callApi(hub, 'GET', '/models')).auto).toEqual(['offline/extractive'])

  const used = await send('/models/local', { server: 'Ollama', model: 'fake-small' })
  expect([used.status, used.headers.get('location')]).toEqual([
    303,
    '/models?open=openai-compatible#openai-compatible',
  ])
  const { auto } = await callApi(hub, 'GET', '/models')
  expect(auto).toEqual(['openai-compatible/fake-small'])
  const tried = await callApi(hub, 'POST', '/models/test', { model: auto[0] })
  expect(tried).toMatchObject({ has_succeeded: true, text: 'This is the fake model.' })

  const before = searched.count
  expect(await (await send('/models')).text()).not.toContain('On this machine')
  expect(searched.count).toBe(before)
  expect(await (await send('/models?look=here')).text()).toContain('On this machine')
})

test('a server or a model that was not found is not set up', async () => {
  const { port } = await listen(sendJson(list('qwen3')))
  const { hub } = await startSearchingHub(port)
  const send = await signIn(hub, hub.adminKey)
  for (const [server, model] of [
    ['vLLM', 'qwen3'],
    ['Ollama', 'gpt-5'],
  ] as const) {
    const refused = await send('/models/local', { server, model })
    expect([refused.status, await refused.text()]).toEqual([
      404,
      expect.stringContaining('is not found on this machine any more'),
    ])
  }
  expect((await callApi(hub, 'GET', '/models')).auto).toEqual(['offline/extractive'])
})

test('a hub that others reach does not look, and refuses an address of this machine', async () => {
  const { port, asked } = await listen(sendJson(list('qwen3')))
  const origin = 'http://hub.example:8787,http://localhost:8787'
  const { hub, searched } = await startSearchingHub(port, { ROOKERY_ORIGIN: origin })
  const send = await signIn(hub, hub.adminKey)
  const page = await (await send('/models?look=here')).text()
  expect(page).toContain('Others reach this hub')
  expect(page).not.toContain('On this machine')
  expect((await send('/models/local', { server: 'Ollama', model: 'qwen3' })).status).toBe(404)
  const put = await callApi(hub, 'PUT', '/model-providers/openai-compatible', {
    base_url: `http://127.0.0.1:${port}/v1`,
  })
  expect(JSON.stringify(put)).toContain('ROOKERY_ALLOW_PRIVATE_SERVICES=true')
  expect([searched.count, asked]).toEqual([0, []])
})

test('a hub is no server of models', async () => {
  const { hub } = await startSearchingHub(1)
  expect(await find({ name: 'vLLM', port: Number(new URL(hub.url).port) })).toEqual([])
})
