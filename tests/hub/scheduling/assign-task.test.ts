import { env } from 'cloudflare:workers'
import { beforeEach, expect, it } from 'vitest'
import { AppError } from '../../../src/shared/errors'
import { signIn } from '../../web/open-pages'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()
const mira = await hub.join('mira', 'human')
const scout = await hub.join('scout')
const outside = await hub.join('outsider')
await hub.host(scout.id)

beforeEach(async () => {
  await env.DB.prepare('DELETE FROM inbox_items').run()
  hub.seen.woken.length = 0
  hub.seen.checkModel = async (_agent, model) => model
})

const give = (body: object, { key = adminKey, name = 'scout', headers = {} } = {}) =>
  hub.call(`/agents/${name}/activate`, { key, body, headers })
const items = async () =>
  (await env.DB.prepare('SELECT * FROM inbox_items').all()).results as Record<string, unknown>[]

it('L2: a task given by hand waits in the inbox of the agent, which is woken', async () => {
  const { status, body } = await give({ task: ' Sum up the week. ' })
  expect(status).toBe(202)
  expect(body.item).toMatchObject({
    type: 'task',
    agent: { name: 'scout', kind: 'agent' },
    model: null,
  })
  expect(await items()).toMatchObject([
    {
      id: body.item.id,
      account_id: scout.id,
      type: 'task',
      task: 'manual',
      model: null,
      content: 'Sum up the week.',
      is_task: 1,
      read_at: null,
      hops: 0,
    },
  ])
  expect(hub.seen.woken).toEqual([scout.id])
})

it('L27: the model for one run is checked against the definition and kept with the task', async () => {
  const asked: unknown[] = []
  hub.seen.checkModel = async (agent, model) => {
    asked.push(agent.name, model)
    return 'offline/extractive'
  }
  const { body } = await give({ task: 'x', model: 'offline' })
  expect(asked).toEqual(['scout', 'offline'])
  expect(body.item.model).toBe('offline/extractive')
  expect(await items()).toMatchObject([{ model: 'offline/extractive' }])
})

it('L27: an unusable model is rejected before anything is written', async () => {
  hub.seen.checkModel = async () => {
    throw new AppError('VALIDATION', 'There is no model provider nope.', { hint: 'provider/model' })
  }
  const { status, body } = await give({ task: 'x', model: 'nope/x' })
  expect(status).toBe(400)
  expect(body).toMatchObject({ code: 'VALIDATION', error: 'There is no model provider nope.' })
  expect(await items()).toEqual([])
  expect(hub.seen.woken).toEqual([])
})

it('H6: the same key gives the task once', async () => {
  const headers = { 'idempotency-key': 'task-1' }
  const first = await give({ task: 'once' }, { headers })
  const again = await give({ task: 'once' }, { headers })
  expect(again.status).toBe(202)
  expect(again.body).toEqual(first.body)
  expect(again.headers.get('idempotent-replay')).toBe('true')
  expect(await items()).toHaveLength(1)
  expect((await give({ task: 'another' }, { headers })).body.code).toBe('IDEMPOTENCY_CONFLICT')
})

it.each([
  ['only an admin may', { key: mira.key }, { task: 'x' }, 403],
  ['nobody unknown has a task', { name: 'nobody' }, { task: 'x' }, 404],
  ['an agent that runs elsewhere has none', { name: outside.name }, { task: 'x' }, 404],
  ['a person has none', { name: mira.name }, { task: 'x' }, 404],
  ['it says something', {}, { task: '  ' }, 400],
  ['it is not endless', {}, { task: 'x'.repeat(10_001) }, 400],
  ['it holds no key', {}, { task: `use sk-${'a'.repeat(30)}` }, 400],
])('L2: %s', async (_, who, body, status) => {
  expect((await give(body, who)).status).toBe(status)
  expect(await items()).toEqual([])
})

it('L2: an admin gives a task on the page of an agent; others do not see the form', async () => {
  const admin = await signIn(hub)
  const action = `action="/a/${scout.name}/activate"`
  expect(await admin.read('/a/scout')).toContain(action)
  expect(await (await signIn(hub, mira.key)).read('/a/scout')).not.toContain(action)
  expect(await admin.read('/a/mira')).not.toContain('/activate"')

  const sent = await admin.send('/a/scout/activate', { task: 'Sum up <b>the week</b>.', model: '' })
  expect(sent.status).toBe(303)
  expect(sent.headers.get('location')).toBe('/a/scout')
  expect(await items()).toMatchObject([{ content: 'Sum up <b>the week</b>.', model: null }])

  const person = await signIn(hub, mira.key)
  expect((await person.send('/a/scout/activate', { task: 'x', model: '' })).status).toBe(403)
})

it('L2: a task that cannot be taken is shown again as it was typed, with the reason', async () => {
  hub.seen.checkModel = async () => {
    throw new AppError('VALIDATION', 'There is no model provider nope.')
  }
  const admin = await signIn(hub)
  const sent = await admin.send('/a/scout/activate', { task: 'Sum up <i>it</i>', model: 'nope/x' })
  expect(sent.status).toBe(400)
  const html = await sent.text()
  expect(html).toContain('There is no model provider nope.')
  expect(html).toContain('Sum up &lt;i&gt;it&lt;/i&gt;')
  expect(html).toContain('value="nope/x"')
  expect(await items()).toEqual([])
})

it('L2: an invalid task is an error at its field', async () => {
  const admin = await signIn(hub)
  const sent = await admin.send('/a/scout/activate', { task: '  ', model: 'openai/gpt-6-sol' })
  expect(sent.status).toBe(400)
  const html = await sent.text()
  expect(html).toContain('role="alert"')
  expect(html).toMatch(/<textarea[^>]* aria-describedby="task-wrong task-reply"/)
  expect(html).toMatch(/<textarea[^>]* aria-invalid="true"/)
  expect(html).toContain('The task must not be empty.')
  expect(html).toContain('value="openai/gpt-6-sol"')
})
