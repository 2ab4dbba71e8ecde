import { env, exports } from 'cloudflare:workers'
import { adminKey, call, pushDefinition, waitForValue } from '../../support/cast'
import type { FakeAnswer } from '../../support/fake-model-wire'

/** Watching agents at work: the whole Worker, with a model that takes its time over HTTP. */
const fakeUrl = (env as unknown as { FAKE_MODEL_URL: string }).FAKE_MODEL_URL

/** An agent of its own, whose model gives these answers. */
export async function createAgent(name: string, answers: FakeAnswer[]): Promise<string> {
  await fetch(`${fakeUrl}/__script`, {
    method: 'POST',
    body: JSON.stringify({ id: name, answers }),
  })
  return pushDefinition(name, {
    'config.yaml': `name: ${name}\nbrain: { provider: openai-compatible, model: fake, api_base: "${fakeUrl}/s/${name}/v1" }\ncapabilities: { grants: [hub:read] }\n`,
    'system-prompt.md': 'You are watched.',
  })
}

export interface Heard {
  type: string
  seq?: number
  [field: string]: unknown
}

export interface Watcher {
  heard: Heard[]
  /** The model's words as a watcher's page would show them now. */
  text(): string
  isClosed(): boolean
}

export async function openSocket(
  path: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return exports.default.fetch(
    new Request(`http://hub.test${path}`, { headers: { upgrade: 'websocket', ...headers } }),
  )
}

/** Watches as an admin unless another account is named; null is anonymous. */
export async function watch(
  id: string,
  query = 'view=full',
  key: string | null = adminKey,
): Promise<Watcher> {
  const headers: Record<string, string> = key ? { authorization: `Bearer ${key}` } : {}
  const { status, webSocket } = await openSocket(`/live/activations/${id}?${query}`, headers)
  if (status !== 101 || !webSocket) throw new Error(`no socket: ${status}`)
  const heard: Heard[] = []
  let text = ''
  let isClosed = false
  webSocket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as Heard
    heard.push(message)
    if (message.type === 'text-delta') text = text.slice(0, Number(message.from)) + message.text
  })
  webSocket.addEventListener('close', () => {
    isClosed = true
  })
  webSocket.accept()
  return { heard, text: () => text, isClosed: () => isClosed }
}

export const running = (postId: string) =>
  waitForValue(
    async () =>
      (
        await env.DB.prepare("SELECT id FROM activations WHERE post_id = ? AND state = 'running'")
          .bind(postId)
          .first<{ id: string }>()
      )?.id,
    'the activation',
  )

export const isDone = (id: string) =>
  waitForValue(
    () =>
      env.DB.prepare("SELECT outcome FROM activations WHERE id = ? AND state = 'done'")
        .bind(id)
        .first<{ outcome: string }>(),
    'the end',
  )

export const eventsOf = async (id: string, after = 0): Promise<Heard[]> => {
  const { body } = await call<{ events: Heard[] }>(
    'GET',
    `/api/v1/activations/${id}/events?after=${after}`,
    { key: adminKey },
  )
  return body.events
}

export const numbered = ({ heard }: Watcher): Heard[] =>
  heard.filter(({ seq }) => seq !== undefined)
export const typesOf = (heard: Heard[]): string[] => heard.map(({ type }) => type)

export const slowly = (text: string, over: Partial<FakeAnswer> = {}): FakeAnswer => ({
  text,
  pieceMs: 60,
  pieceChars: 6,
  ...over,
})

export const long =
  'The tide comes in twice a day, and the almanac has the hours of it for every harbour.'
