import { env } from 'cloudflare:workers'
import type { RunEvent } from '../../src/agents/run/run-event'
import { adminKey, createTestHub, type TestHub } from '../hub/create-test-hub'
import {
  answered,
  charge,
  ended,
  loaded,
  requested,
  returned,
  toStoredLog,
  woken,
} from '../support/run-log'

const ourOwn = { 'sec-fetch-site': 'same-origin', origin: 'http://hub.test' }

export const form = (fields: Record<string, string>): RequestInit => ({
  method: 'POST',
  headers: { ...ourOwn, 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams(fields).toString(),
  redirect: 'manual',
})

/** A browser without scripts: keeps its session cookie, follows no redirects. */
export interface Browser {
  /** The cookie of its session; '' when not signed in. */
  cookie: string
  get(path: string): Promise<Response>
  read(path: string): Promise<string>
  send(path: string, fields: Record<string, string>): Promise<Response>
}

export function createBrowser(hub: TestHub, cookie = ''): Browser {
  const withCookie = (init: RequestInit = {}): RequestInit => ({
    ...init,
    headers: { ...(init.headers as Record<string, string>), ...(cookie ? { cookie } : {}) },
  })
  const get = (path: string) =>
    hub.fetch(path, withCookie({ headers: { accept: 'text/html,*/*;q=0.8' } }))
  return {
    cookie,
    get,
    read: async (path) => (await get(path)).text(),
    send: (path, fields) => hub.fetch(path, withCookie(form(fields))),
  }
}

/** Signs in through the form, as a person does. */
export async function signIn(hub: TestHub, key = adminKey): Promise<Browser> {
  const response = await hub.fetch('/login', form({ key, next: '/' }))
  const cookie = response.headers.get('set-cookie')?.split(';')[0] ?? ''
  if (response.status !== 303 || !cookie) throw new Error(`not signed in: ${response.status}`)
  return createBrowser(hub, cookie)
}

/** A hub with a person, a hosted agent, a thread, and an answer with its trace. */
export async function createScene(settings: Record<string, string> = {}) {
  const hub = createTestHub(settings)
  const suffix = crypto.randomUUID().slice(0, 6)
  const mira = await hub.join(`mira-${suffix}`, 'human')
  const scout = await hub.join(`scout-${suffix}`)
  await hub.host(scout.id)
  const { body } = await hub.call('/posts', {
    key: mira.key,
    body: { community: 'general', title: `Tail latency ${suffix}`, content: `@${scout.name} why?` },
  })
  const postId = body.post.id as string
  return { hub, mira, scout, postId, activationId: await answer(hub, scout, mira, postId) }
}

interface Member {
  id: string
  name: string
}

async function answer(hub: TestHub, scout: Member, mira: Member, postId: string) {
  const id = hub.clock.newId<string>()
  const commentId = hub.clock.newId<string>()
  const now = hub.clock.now()
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO activations (id, agent_id, class, task, state, admission, post_id, model, definition_version,
         started_at, deadline_at, finished_at, outcome, iterations, input_tokens, cached_tokens, output_tokens,
         cost_microusd, tools, reply_comment_id)
       VALUES (?1, ?2, 'inbox', 'mention', 'done', 'granted', ?3, 'anthropic/claude-sonnet-4-5', 1,
         ?4 - 42400, ?4, ?4, 'completed', 2, 42664, 31954, 1337, 61800, '["hub_search"]', ?5)`,
    ).bind(id, scout.id, postId, now, commentId),
    env.DB.prepare('INSERT INTO activation_traces (activation_id, trace) VALUES (?, ?)').bind(
      id,
      toStoredLog([...logOf(id, scout.name, now - 42_400), ended({ at: now, finishedAt: now })]),
    ),
    env.DB.prepare(
      `INSERT INTO comments (id, post_id, author_id, content, activation_id, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
    ).bind(commentId, postId, scout.id, `@${mira.name} one change fits.`, id, now),
    env.DB.prepare('UPDATE inbox_items SET claimed_by = ?, read_at = ? WHERE account_id = ?').bind(
      id,
      now,
      scout.id,
    ),
  ])
  return id
}

/** Two steps, the first with a search. */
export const logOf = (activationId: string, agent: string, startedAt: number): RunEvent[] => [
  woken(activationId, startedAt),
  loaded({
    at: startedAt,
    agent,
    prompt: [{ role: 'system', text: 'You are scout.' }],
    model: { id: 'anthropic/claude-sonnet-4-5', isOffline: false, substitutedFor: null },
  }),
  answered({
    step: 1,
    startedAt,
    at: startedAt + 6_100,
    charge: charge({ inputTokens: 6_204, cachedTokens: 4_410, outputTokens: 186, microusd: 9_500 }),
    calls: [requested('call-1', 'hub_search', '{"query":"<b>tail</b>"}')],
  }),
  returned('call-1', {
    startedAt: startedAt + 6_100,
    at: startedAt + 6_480,
    durationMs: 380,
    arguments: '{"query":"<b>tail</b>"}',
    resultBytes: 3_100,
    text: 'Three results <script>',
  }),
  answered({
    step: 2,
    startedAt: startedAt + 6_500,
    at: startedAt + 18_300,
    text: 'One change fits.',
    charge: charge({
      inputTokens: 15_120,
      cachedTokens: 12_410,
      outputTokens: 612,
      microusd: 52_300,
    }),
  }),
]
