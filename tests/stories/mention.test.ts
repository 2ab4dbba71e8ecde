import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { templates } from '../../src/agents/definitions/templates'
import { d1Totals } from '../../src/shared/db/db'
import {
  call,
  createAccount,
  listComments,
  post,
  pushDefinition,
  scoutFiles,
  waitForReply,
  waitForValue,
} from '../support/cast'
import { createAgent } from '../support/create-agent'
import { externalUrls } from '../support/external-services'
import { add, api, echo, mapEcho, setBehavior } from '../support/remote-servers'

let mira: Awaited<ReturnType<typeof createAccount>>
let scoutId: string

beforeAll(async () => {
  mira = await createAccount('mira')
  scoutId = await pushDefinition('scout', scoutFiles())
})

test('a person asks @scout and gets an answer with a link to the right post', async () => {
  const source = await post(
    mira.key,
    'Pelican census',
    'The spring census counted 412 pelicans on the northern lagoon.',
  )
  const asked = await post(
    mira.key,
    'A question',
    '@scout how many pelicans did the census count on the lagoon?',
  )
  const reply = await waitForReply(asked)
  expect(reply.content).toContain('412 pelicans')
  expect(reply.content).toContain(`/p/${source}`)
  expect(reply.content).toContain('@mira')
  const row = await env.DB.prepare('SELECT * FROM activations WHERE reply_comment_id = ?')
    .bind(reply.id)
    .first()
  expect(row).toMatchObject({
    state: 'done',
    outcome: 'completed',
    reserved_tokens: 0,
    agent_id: scoutId,
  })
  const inbox = await env.DB.prepare('SELECT * FROM inbox_items WHERE account_id = ?')
    .bind(scoutId)
    .all()
  expect(inbox.results.every(({ read_at }) => read_at !== null)).toBe(true)
})

/** Returns the costs of a mention after its post was created. */
async function costOf(title: string, content: string) {
  const before = d1Totals.roundTrips
  const asked = await call<{ post: { id: string } }>('POST', '/api/v1/posts', {
    key: mira.key,
    body: { community: 'general', title, content },
  })
  const posting = Number(/round_trips=(\d+)/.exec(asked.headers.get('server-timing') ?? '')?.[1])
  const { id } = asked.body.post
  const during = await waitForValue(async () => {
    const now = d1Totals.roundTrips
    return (await listComments(id)).length > 0 ? now : null
  }, 'the answer')
  return { id, roundTrips: during - before - posting }
}

const costOfHello = async () => (await costOf('Hello', '@scout hi')).roundTrips

test('L37: a mention answered without tools costs two D1 round trips', async () => {
  expect(await costOfHello()).toBe(2)
})

test('L37 M12: remote tools cost one more round trip, once, after an admin changed them', async () => {
  await setBehavior('tern', { tools: [echo] })
  const { remote } = await add('tern', `${externalUrls.mcp}/hostile/tern`)
  expect(remote.failure).toBeNull()
  for (const change of [
    () => mapEcho('tern'),
    () => api('PUT', '/tern/tools/echo', { grant: 'tern:use', tier: 'read' }),
  ]) {
    expect((await change()).status).toBe(200)
    expect(await costOfHello()).toBe(3)
    expect(await costOfHello()).toBe(2)
  }
})

test('L37: each further model call costs one more round trip, a tool call its decision and its read', async () => {
  await post(mira.key, 'Heron log', 'The heron nests at the weir since April.')
  const { id, roundTrips } = await costOf('Heron', '@scout where does the heron nest?')
  const { results } = await env.DB.prepare(
    `SELECT x.iterations, count(a.id) AS calls, sum(a."grant" LIKE 'hub:%') AS reads FROM activations x JOIN audit_log a ON a.activation_id = x.id WHERE x.post_id = ?`,
  )
    .bind(id)
    .all<{ iterations: number; calls: number; reads: number }>()
  const { iterations = 0, calls = 0, reads = 0 } = results[0] ?? {}
  expect(calls).toBeGreaterThan(1)
  expect(roundTrips).toBe(iterations + 1 + calls + reads)
})

test('D1: an agent of every template answers a mention with its own prompt', async () => {
  // A coding agent runs on a machine with its program, which is tested with one.
  const native = templates.filter(({ files }) => !/^type:/m.test(files['config.yaml'] ?? ''))
  expect(templates.length - native.length).toBe(1)
  const asked = await Promise.all(
    native.map(async ({ name, files }) => {
      const agent = await createAgent(name, [{ text: `This is ${name}.` }], { definition: files })
      const id = await post(mira.key, `To ${name}`, `@${name} what do you do?`)
      return { name, files, agent, id }
    }),
  )
  for (const { name, files, agent, id } of asked) {
    expect((await waitForReply(id, name)).content, name).toContain(`This is ${name}.`)
    const [request] = await agent.requests()
    const [first = ''] = (files['system-prompt.md'] ?? '').split('\n')
    const filled = first.replace('{{name}}', name).replace(/\{\{display_name\}\}.*/, '')
    expect(JSON.stringify(request), name).toContain(filled)
  }
})
