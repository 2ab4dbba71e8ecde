import { env } from 'cloudflare:workers'
import { beforeEach, vi } from 'vitest'
import type { TestHub } from '../create-test-hub'

export interface Received {
  url: string
  id: string
  headers: Record<string, string>
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
  body: any
}

type Answer = (url: string, received: Received) => Response | Promise<Response>

const accept: Answer = () => new Response(null, { status: 204 })

/** Stands for all receivers of webhooks, and counts what each is sent. Before each test there is no webhook. */
export function createReceiver(hub: TestHub) {
  const received: Received[] = []
  const state = { answer: accept }
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const request = new Request(input as string, init as RequestInit)
    const text = await request.text()
    const headers = Object.fromEntries(request.headers)
    const each = { url: request.url, headers, text, id: headers['webhook-id'] ?? '' }
    const one: Received = { ...each, body: JSON.parse(text) }
    received.push(one)
    return state.answer(request.url, one)
  })
  beforeEach(async () => {
    for (const table of ['outbox', 'webhooks']) await env.DB.prepare(`DELETE FROM ${table}`).run()
    received.length = 0
    state.answer = accept
  })

  const newMember = async (name: string, role = 'member') => {
    const person = await hub.join(`${name}-${crypto.randomUUID().slice(0, 6)}`, 'human')
    await env.DB.prepare('UPDATE accounts SET role = ? WHERE id = ?').bind(role, person.id).run()
    return person
  }
  /** A webhook of the person; for posts in m/general unless something else is said. */
  const create = async ({ key }: { key: string }, body: object = {}) => {
    const { status, body: made } = await hub.call('/webhooks', {
      key,
      body: {
        url: 'https://receiver.example/in',
        events: ['post.created'],
        community: 'general',
        ...body,
      },
    })
    if (status !== 201) throw new Error(JSON.stringify(made))
    return made.webhook as { id: string; secret: string; url: string }
  }
  const post = async ({ key }: { key: string }, fields: object = {}) => {
    const { body, status } = await hub.call('/posts', {
      key,
      body: { community: 'general', title: 'A title', content: 'Words', ...fields },
    })
    if (status !== 201) throw new Error(JSON.stringify(body))
    return body.post as { id: string }
  }
  const readOutbox = async () =>
    (
      await env.DB.prepare(
        'SELECT id, target_id, event, state, attempts, answer, next_at FROM outbox ORDER BY seq',
      ).all<{
        id: string
        target_id: string
        event: string
        state: string
        attempts: number
        answer: string | null
        next_at: number
      }>()
    ).results
  const readWebhook = (id: string) =>
    env.DB.prepare('SELECT * FROM webhooks WHERE id = ?').bind(id).first<{
      retry_at: number
      failures: number
      failing_since: number | null
      disabled_at: number | null
      reason: string | null
    }>()
  return { received, state, newMember, create, post, readOutbox, readWebhook }
}
