import { abortAllDurableObjects, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  adminKey,
  call,
  createAccount,
  listComments,
  post,
  pushDefinition,
  waitForReply,
  waitForValue,
} from '../support/cast'
import type { FakeAnswer } from '../support/fake-model-wire'
import { openTrace } from '../support/run-log'

/** An agent makes a call that requires approval. Everything but the model is real. */
const fakeUrl = (env as unknown as { FAKE_MODEL_URL: string }).FAKE_MODEL_URL

let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

/** Creates an agent whose posts require approval. */
async function createAgent(name: string, answers: FakeAnswer[]): Promise<string> {
  const script = `approval-${name}`
  await fetch(`${fakeUrl}/__script`, {
    method: 'POST',
    body: JSON.stringify({ id: script, answers }),
  })
  const id = await pushDefinition(name, filesOf(name, 'You ask before you write.'))
  const { status } = await call('PUT', `/api/v1/agents/${name}/grants`, {
    key: adminKey,
    body: { allowed: ['hub:read', 'hub:write'], require_approval: ['tool:hub_create_post'] },
  })
  expect(status).toBe(200)
  return id
}

const filesOf = (name: string, prompt: string) => {
  const script = `approval-${name}`
  return {
    'config.yaml': `name: ${name}\nbrain: { provider: openai-compatible, model: fake, api_base: "${fakeUrl}/s/${script}/v1", api_key_env: OPENAI_COMPATIBLE_API_KEY }\ncapabilities: { grants: [hub:read, hub:write] }\n`,
    'system-prompt.md': prompt,
  }
}

/** Returns the requests to an agent's model, oldest first. */
const askedOf = async (name: string): Promise<string[]> => {
  const response = await fetch(`${fakeUrl}/__log?script=approval-${name}`)
  return ((await response.json()) as { body: unknown }[]).map(({ body }) => JSON.stringify(body))
}

const wantsToPost = (title: string): FakeAnswer[] => [
  {
    text: 'I will post this.',
    calls: [
      {
        name: 'hub_create_post',
        arguments: { community: 'general', title, content: 'Nine of them.' },
      },
    ],
  },
  { text: 'I did what I could.' },
]

interface Waiting {
  id: string
  activation_id: string
  arguments: string
}

const waitingFor = (title: string): Promise<Waiting> =>
  waitForValue(async () => {
    const { body } = await call<{ approvals: Waiting[] }>('GET', '/api/v1/approvals', {
      key: adminKey,
    })
    return body.approvals.find(({ arguments: args }) => args.includes(title))
  }, 'the request for approval')

const decide = (id: string, decision: string, note = '') =>
  call('POST', `/api/v1/approvals/${encodeURIComponent(id)}/decide`, {
    key: adminKey,
    body: { decision, note },
  })

const activation = (id: string) =>
  env.DB.prepare('SELECT * FROM activations WHERE id = ?').bind(id).first<{
    state: string
    outcome: string | null
    reserved_tokens: number
  }>()

const postsCalled = async (title: string) =>
  (await env.DB.prepare('SELECT id FROM posts WHERE title = ?').bind(title).all()).results.length

const traceOf = async (id: string) => {
  const row = await env.DB.prepare('SELECT trace FROM activation_traces WHERE activation_id = ?')
    .bind(id)
    .first<{ trace: string }>()
  return openTrace(row?.trace ?? '{}')
}

describe('a call that requires approval', () => {
  test('L30 M7: it parks without reservations, runs once when approved, and the agent answers', async () => {
    await createAgent('heronry', wantsToPost('Herons approved'))
    const asked = await post(mira.key, 'Herons', '@heronry post about herons')
    const waiting = await waitingFor('Herons approved')
    expect(await activation(waiting.activation_id)).toMatchObject({
      state: 'parked',
      reserved_tokens: 0,
    })
    expect(await postsCalled('Herons approved')).toBe(0)
    expect((await decide(waiting.id, 'approve')).status).toBe(200)
    expect((await waitForReply(asked, 'heronry')).content).toContain('I did what I could.')
    expect(await postsCalled('Herons approved')).toBe(1)
    expect(await listComments(asked)).toHaveLength(1)
    expect(await activation(waiting.activation_id)).toMatchObject({
      state: 'done',
      outcome: 'completed',
    })
  })

  test('L30 L31: a denial is returned to the model with its author and reason, and the agent answers', async () => {
    await createAgent('denied', wantsToPost('Herons denied'))
    const asked = await post(mira.key, 'Herons', '@denied post about herons')
    const waiting = await waitingFor('Herons denied')
    await decide(waiting.id, 'deny', 'We have enough herons.')
    await waitForReply(asked, 'denied')
    expect(await postsCalled('Herons denied')).toBe(0)
    expect((await askedOf('denied')).at(-1)).toContain('We have enough herons.')
    const { plan } = await traceOf(waiting.activation_id)
    expect(plan.steps).toMatchObject([{ status: 'failed' }])
  })

  test('L30 L36: it survives the restart of all objects while it waits', async () => {
    const id = await createAgent('patient', wantsToPost('Herons survive'))
    const asked = await post(mira.key, 'Herons', '@patient post about herons')
    const waiting = await waitingFor('Herons survive')
    await abortAllDurableObjects()
    const rows = await runInDurableObject(env.AGENTS.getByName(id), (_agent, state) =>
      state.storage.sql.exec('SELECT * FROM parked').toArray(),
    )
    expect(rows.length).toBeGreaterThan(3)
    await decide(waiting.id, 'approve')
    await waitForReply(asked, 'patient')
    expect(await postsCalled('Herons survive')).toBe(1)
  })

  test('L30 L15: a parked activation keeps its definition version; the next task uses the new one', async () => {
    await createAgent('changed', wantsToPost('Herons of old'))
    const first = await post(mira.key, 'Herons', '@changed post about herons')
    const waiting = await waitingFor('Herons of old')
    await pushDefinition('changed', filesOf('changed', 'You are a new bird.'))
    await abortAllDurableObjects()
    await decide(waiting.id, 'approve')
    await waitForReply(first, 'changed')
    expect(await postsCalled('Herons of old')).toBe(1)
    const second = await post(mira.key, 'Hello', '@changed hello')
    await waitForReply(second, 'changed')
    const asked = await askedOf('changed')
    expect(asked.map((body) => body.includes('You ask before you write.'))).toEqual([
      true,
      true,
      false,
    ])
    expect(asked.map((body) => body.includes('You are a new bird.'))).toEqual([false, false, true])
    expect(asked[1]).toContain('I will post this.')
  })

  test('L30 L38: it answers others while one of its tasks waits', async () => {
    await createAgent('busybody', [
      ...wantsToPost('Herons wait').slice(0, 1),
      { text: 'Hello to you.' },
    ])
    const first = await post(mira.key, 'Herons', '@busybody post about herons')
    const waiting = await waitingFor('Herons wait')
    const second = await post(mira.key, 'Hello', '@busybody hello')
    expect((await waitForReply(second, 'busybody')).content).toContain('Hello to you.')
    expect(await listComments(first)).toHaveLength(0)
    await decide(waiting.id, 'approve')
    await waitForReply(first, 'busybody')
    expect(await listComments(first)).toHaveLength(1)
    expect(await listComments(second)).toHaveLength(1)
  })

  test('L34: it can be stopped while it waits', async () => {
    await createAgent('stopped', wantsToPost('Herons stopped'))
    const asked = await post(mira.key, 'Herons', '@stopped post about herons')
    const waiting = await waitingFor('Herons stopped')
    const { status } = await call('POST', `/api/v1/activations/${waiting.activation_id}/cancel`, {
      key: adminKey,
      body: {},
    })
    expect(status).toBeLessThan(300)
    expect((await waitForReply(asked, 'stopped')).content).toContain('asked to stop')
    expect(await activation(waiting.activation_id)).toMatchObject({ outcome: 'cancelled' })
    expect(await postsCalled('Herons stopped')).toBe(0)
  })
})
