import { abortAllDurableObjects, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import {
  adminKey,
  call,
  createAccount,
  listComments,
  post,
  waitForReply,
  waitForValue,
} from '../support/cast'
import { createAgent } from '../support/create-agent'
import { externalUrls } from '../support/external-services'
import type { GithubPlan } from '../support/github-answers'
import type { Json } from '../support/github-shapes'
import { asAdmin } from '../support/services'

/** An agent opens an issue on GitHub with approval. Everything but the model and GitHub is real. */
const hourMs = 3_600_000
const token = 'ghp_the-token-of-this-hub'
let mira: Awaited<ReturnType<typeof createAccount>>
/** A fake GitHub per test. */
let github: string

beforeAll(async () => {
  mira = await createAccount('mira')
})

beforeEach(async () => {
  github = `${externalUrls.github}/${crypto.randomUUID()}`
  const service = {
    base_url: github,
    headers: { Authorization: 'Bearer {credential}' },
    allow_http: true,
    allow_private: true,
  }
  expect((await asAdmin('PUT', '/services/github/github', service)).status).toBe(200)
  const credential = { value: token, server: 'github', service: 'github' }
  expect((await asAdmin('PUT', '/credentials/github-key', credential)).status).toBe(200)
})

const issues = async () =>
  ((await (await fetch(`${github}/_state`)).json()) as { issues: Json[] }).issues
const plan = (...plans: GithubPlan[]) =>
  fetch(`${github}/_plan`, { method: 'POST', body: JSON.stringify(plans) })
const sent = async (method: string) =>
  ((await (await fetch(`${github}/_state`)).json()) as { log: { method: string }[] }).log.filter(
    (each) => each.method === method,
  ).length

/** Mira asks an agent for an issue. Returns the thread and the call that waits for approval. */
async function askFor(name: string, title: string) {
  const wanted = { owner: 'acme', repo: 'tools', title, body: 'Seen by the pond.' }
  const agent = await createAgent(
    name,
    [
      { text: 'I open an issue.', calls: [{ name: 'github_create_issue', arguments: wanted }] },
      { text: 'That is what came of it.' },
    ],
    { grants: ['hub:read', 'github:write'] },
  )
  const policy = {
    allowed: ['hub:read', 'github:read', 'github:write'],
    require_approval: ['github:write'],
  }
  expect((await asAdmin('PUT', `/agents/${name}/grants`, policy)).status).toBe(200)
  const thread = await post(mira.key, 'The pond leaks', `@${name} open an issue about it`)
  const waiting = await waitForValue(
    () =>
      env.DB.prepare(
        `SELECT p.id, p.activation_id, p.arguments FROM approvals p JOIN activations x ON x.id = p.activation_id
         WHERE p.status = 'pending' AND x.state = 'parked' AND p.arguments LIKE ?`,
      )
        .bind(`%${title}%`)
        .first<{ id: string; activation_id: string; arguments: string }>(),
    'the call that waits',
  )
  expect(JSON.parse(waiting.arguments)).toEqual(wanted)
  return { thread, waiting, agent }
}

/** Moves all stored times back by `ms` and evicts the agent's objects. */
async function letPass(ms: number, { id, activation_id }: { id: string; activation_id: string }) {
  await env.DB.batch([
    env.DB.prepare(
      'UPDATE approvals SET created_at = created_at - ?2, expires_at = expires_at - ?2 WHERE id = ?1',
    ).bind(id, ms),
    env.DB.prepare(
      'UPDATE activations SET started_at = started_at - ?2, deadline_at = deadline_at - ?2 WHERE id = ?1',
    ).bind(activation_id, ms),
  ])
  await abortAllDurableObjects()
}

const decide = (id: string, decision: string) =>
  asAdmin('POST', `/approvals/${encodeURIComponent(id)}/decide`, { decision, note: '' })

/** Returns the items of the admin's inbox about a call. */
async function approverItems(title: string) {
  const { body } = await call<{
    items: { type: string; content: string; is_read: boolean }[]
  }>('GET', '/api/v1/inbox', { key: adminKey })
  return body.items.filter(({ content }) => content.includes(title))
}

const lastModelRequest = async (agent: Awaited<ReturnType<typeof createAgent>>) =>
  JSON.stringify((await agent.requests()).at(-1)?.body)

test('L30 M7: the call waits for hours, is approved, and opens the issue once', async () => {
  const { thread, waiting, agent } = await askFor('ranger', 'The pond leaks slowly')
  expect(await approverItems('The pond leaks slowly')).toMatchObject([
    { type: 'approval_request', is_read: false },
  ])
  expect(await sent('POST')).toBe(0)
  await letPass(11 * hourMs, waiting)
  expect(await sent('POST')).toBe(0)
  expect((await decide(waiting.id, 'approve')).status).toBe(200)
  expect((await waitForReply(thread, 'ranger')).content).toContain('That is what came of it.')

  const [opened, ...more] = await issues()
  expect(more).toEqual([])
  expect(opened).toMatchObject({ title: 'The pond leaks slowly' })
  expect(String(opened?.body)).toContain('Seen by the pond.')
  expect(await sent('POST')).toBe(1)
  expect(await lastModelRequest(agent)).toContain('https://github.com/acme/tools/issues/1')
  expect(await approverItems('The pond leaks slowly')).toMatchObject([{ is_read: true }])
  expect(await listComments(thread)).toHaveLength(1)
  // Approving again changes nothing, and denying is too late.
  expect((await decide(waiting.id, 'approve')).status).toBe(200)
  expect((await decide(waiting.id, 'deny')).status).toBe(409)
  expect(await issues()).toHaveLength(1)
})

test('L30 M7: without a decision within a day the issue is not opened', async () => {
  const { thread, waiting, agent } = await askFor('unheard', 'The pond leaks unheard')
  await letPass(25 * hourMs, waiting)
  await runInDurableObject(env.SCHEDULER.getByName('scheduler'), (scheduler) => scheduler.arm())
  await waitForReply(thread, 'unheard')
  expect(await lastModelRequest(agent)).toContain('the approval expired')
  expect((await decide(waiting.id, 'approve')).status).toBe(409)
  expect(await sent('POST')).toBe(0)
})

test('L36 M7: a restart after GitHub opened the issue, before its response, opens no second issue', async () => {
  const { thread, waiting, agent } = await askFor('unlucky', 'The pond leaks again')
  await plan({ method: 'POST', isHeld: true })
  await letPass(5 * hourMs, waiting)
  await decide(waiting.id, 'approve')
  await waitForValue(async () => (await issues()).length === 1, 'GitHub to open it')
  await abortAllDurableObjects()
  expect((await waitForReply(thread, 'unlucky')).content).toContain('That is what came of it.')
  expect(await issues()).toHaveLength(1)
  expect(await sent('POST')).toBe(1)
  expect(await lastModelRequest(agent)).toContain('https://github.com/acme/tools/issues/1')
  expect(await listComments(thread)).toHaveLength(1)
})

test('M14 M7: the response of GitHub is lost, and the model gets that the call may have succeeded', async () => {
  const { thread, waiting, agent } = await askFor('doubtful', 'The pond leaks perhaps')
  await plan({ method: 'POST', isLost: true })
  await decide(waiting.id, 'approve')
  await waitForReply(thread, 'doubtful')
  expect(await issues()).toHaveLength(1)
  expect(await sent('POST')).toBe(1)
  expect(await lastModelRequest(agent)).toMatch(
    /may still have completed|An earlier attempt of this call opened/,
  )
})

test('M6: the token appears nowhere', async () => {
  const { results } = await env.DB.prepare(
    `SELECT trace AS text FROM activation_traces UNION ALL SELECT content FROM comments
     UNION ALL SELECT content FROM inbox_items UNION ALL SELECT arguments FROM approvals`,
  ).all<{ text: string }>()
  expect(results.length).toBeGreaterThan(8)
  expect(JSON.stringify(results)).not.toContain(token)
})
