import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import {
  adminKey,
  call,
  createAccount,
  post,
  pushDefinition,
  waitForReply,
  waitForValue,
} from '../support/cast'
import { openTrace } from '../support/run-log'

/** An agent makes several calls in one step, of which some require approval. Everything but the model is real. */
const fakeUrl = (env as unknown as { FAKE_MODEL_URL: string }).FAKE_MODEL_URL

const write = (title: string) => ({
  name: 'hub_create_post',
  arguments: { community: 'general', title, content: 'As asked.' },
})

async function createAgent(name: string, steps: object[][]) {
  const answers = [...steps.map((calls) => ({ calls })), { text: 'Done.' }]
  const id = `step-${name}`
  await fetch(`${fakeUrl}/__script`, { method: 'POST', body: JSON.stringify({ id, answers }) })
  await pushDefinition(name, {
    'config.yaml': `name: ${name}\nbrain: { provider: openai-compatible, model: fake, api_base: "${fakeUrl}/s/${id}/v1", api_key_env: OPENAI_COMPATIBLE_API_KEY }\ncapabilities: { grants: [hub:read, hub:write] }\n`,
    'system-prompt.md': 'You write.',
  })
  const policy = { allowed: ['hub:read', 'hub:write'], require_approval: ['tool:hub_create_post'] }
  await call('PUT', `/api/v1/agents/${name}/grants`, { key: adminKey, body: policy })
}

interface Waiting {
  id: string
  activation_id: string
  call_id: string
  agent: { name: string }
}

const waitingOf = (name: string, count: number): Promise<Waiting[]> =>
  waitForValue(async () => {
    const { body } = await call<{ approvals: Waiting[] }>('GET', '/api/v1/approvals', {
      key: adminKey,
    })
    const own = body.approvals.filter(({ agent }) => agent.name === name)
    return own.length === count && own
  }, 'the approvals')

const titles = async () =>
  (await env.DB.prepare('SELECT title FROM posts ORDER BY title').all<{ title: string }>()).results
    .map(({ title }) => title)
    .filter((title) => title.startsWith('Step '))

const readTrace = async (id: string) => {
  const row = await env.DB.prepare('SELECT trace FROM activation_traces WHERE activation_id = ?')
    .bind(id)
    .first<{ trace: string }>()
  return openTrace(row?.trace ?? '{}')
}

test('C3 T20: harmless calls of a step run at once, its others are approved together, and a rule lets the next ones run', async () => {
  const mira = await createAccount('mira')
  await createAgent('stepper', [
    [write('Step one'), { name: 'hub_search', arguments: { query: 'herons' } }, write('Step two')],
    [write('Step three')],
  ])
  const thread = await post(mira.key, 'Write', '@stepper write two posts')
  const waiting = await waitingOf('stepper', 2)
  const run = waiting[0]?.activation_id ?? ''
  // The search has its result while the others wait.
  const parked = await readTrace(run)
  expect(parked.steps.flatMap(({ tools }) => tools.map(({ name }) => name))).toEqual(['hub_search'])
  expect(await titles()).toEqual([])
  const ids = waiting.map(({ id }) => id)
  const decided = await call('POST', '/api/v1/approvals/decide', {
    key: adminKey,
    body: { ids, decision: 'approve' },
  })
  expect(decided.status).toBe(200)

  const [third] = await waitingOf('stepper', 1)
  expect(await titles()).toEqual(['Step one', 'Step two'])
  const rule = await call(
    'POST',
    `/api/v1/approvals/${encodeURIComponent(third?.id ?? '')}/decide`,
    {
      key: adminKey,
      body: { decision: 'approve', standing_rule: {} },
    },
  )
  expect(rule.status).toBe(200)
  await waitForReply(thread, 'stepper')

  // The same call in a later run asks nobody, and the run says why.
  await createAgent('stepper', [[write('Step three')]])
  const again = await post(mira.key, 'Write', '@stepper once more')
  await waitForReply(again, 'stepper')
  expect(await titles()).toEqual(['Step one', 'Step three', 'Step three', 'Step two'])
  const last = await env.DB.prepare('SELECT id FROM activations WHERE post_id = ?')
    .bind(again)
    .first<{ id: string }>()
  const { notes } = await readTrace(last?.id ?? '')
  expect(notes.map(({ text }) => text).join(' ')).toContain(
    'hub_create_post: Allowed by standing rule of @admin until ',
  )
  const { body } = await call<{ standing_rules: { uses: number }[] }>(
    ...(['GET', '/api/v1/standing-rules', { key: adminKey }] as const),
  )
  expect(body.standing_rules).toMatchObject([
    { uses: 1, state: 'active', requester: { name: 'mira' } },
  ])
})
