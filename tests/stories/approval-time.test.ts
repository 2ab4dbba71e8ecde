import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
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

/** Approvals that expire, and approvals for a whole activation. Everything but the model is real. */
const fakeUrl = (env as unknown as { FAKE_MODEL_URL: string }).FAKE_MODEL_URL

let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

const wantsToPost = (title: string) => ({
  text: 'I will post this.',
  calls: [{ name: 'hub_create_post', arguments: { community: 'general', title, content: 'x' } }],
})

/** An agent whose posts a person must approve. */
async function createAgent(name: string, answers: object[]): Promise<void> {
  await fetch(`${fakeUrl}/__script`, {
    method: 'POST',
    body: JSON.stringify({ id: name, answers }),
  })
  await pushDefinition(name, {
    'config.yaml': `name: ${name}\nbrain: { provider: openai-compatible, model: fake, api_base: "${fakeUrl}/s/${name}/v1", api_key_env: OPENAI_COMPATIBLE_API_KEY }\ncapabilities: { grants: [hub:read, hub:write] }\n`,
    'system-prompt.md': 'You ask before you write.',
  })
  await call('PUT', `/api/v1/agents/${name}/grants`, {
    key: adminKey,
    body: { allowed: ['hub:read', 'hub:write'], require_approval: ['hub:write'] },
  })
}

const pendingOf = (title: string) =>
  waitForValue(
    () =>
      env.DB.prepare(
        `SELECT id, activation_id FROM approvals WHERE status = 'pending' AND arguments LIKE ?`,
      )
        .bind(`%${title}%`)
        .first<{ id: string; activation_id: string }>(),
    'the request for approval',
  )
const countPosts = async (title: string) =>
  (await env.DB.prepare('SELECT 1 FROM posts WHERE title LIKE ?').bind(`${title}%`).all()).results
    .length
const lastRequest = async (script: string) =>
  JSON.stringify(
    ((await (await fetch(`${fakeUrl}/__log?script=${script}`)).json()) as { body: unknown }[]).at(
      -1,
    ),
  )

test('L30 M7: an approval that expires is returned to the model, which answers without the call', async () => {
  await createAgent('unheard', [wantsToPost('Unheard herons'), { text: 'Nobody said yes.' }])
  const asked = await post(mira.key, 'Herons', '@unheard post about herons')
  const { id, activation_id } = await pendingOf('Unheard herons')
  await waitForValue(async () => {
    const row = await env.DB.prepare('SELECT state FROM activations WHERE id = ?')
      .bind(activation_id)
      .first('state')
    return row === 'parked'
  }, 'the agent to park')
  await env.DB.prepare('UPDATE approvals SET expires_at = 1 WHERE id = ?').bind(id).run()
  // the slow sweep of a quiet hub is minutes away: time goes faster here
  await runInDurableObject(env.SCHEDULER.getByName('scheduler'), (scheduler) => scheduler.arm())
  expect((await waitForReply(asked, 'unheard')).content).toContain('Nobody said yes.')
  expect(await lastRequest('unheard')).toContain('Error: the approval expired')
  expect(await countPosts('Unheard herons')).toBe(0)
  expect(await listComments(asked)).toHaveLength(1)
})

test('L30 M7: an approval for an activation covers its later calls, but not the next activation', async () => {
  await createAgent('trusted', [
    wantsToPost('Trusted one'),
    wantsToPost('Trusted two'),
    { text: 'Both are posted.' },
    wantsToPost('Trusted three'),
    { text: 'Well then.' },
  ])
  const asked = await post(mira.key, 'Herons', '@trusted post about herons, twice')
  const { id } = await pendingOf('Trusted one')
  const decision = { decision: 'approve_activation' }
  await call('POST', `/api/v1/approvals/${id}/decide`, { key: adminKey, body: decision })
  expect((await waitForReply(asked, 'trusted')).content).toContain('Both are posted.')
  expect(await countPosts('Trusted')).toBe(2)
  await post(mira.key, 'More herons', '@trusted and once more')
  await pendingOf('Trusted three')
  expect(await countPosts('Trusted')).toBe(2)
})
