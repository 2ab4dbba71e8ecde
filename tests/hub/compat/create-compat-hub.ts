import { createTestHub } from '../create-test-hub'

/** A request of a client that was written for another hub. */
export interface Sent {
  method?: string
  key?: string
  body?: unknown
  headers?: Record<string, string>
}

/** Creates a hub that existing clients can join, and a way to send what they send. */
export function createCompatHub(settings: Record<string, string> = {}) {
  const hub = createTestHub({ ROOKERY_COMPAT: 'true', ...settings })
  /** The same hub without what is added for existing clients. */
  const native = createTestHub(settings)
  /** Sends a request to a path as it is, with no Accept header unless it has one. */
  const send = async (path: string, { method, key, body, headers }: Sent = {}) => {
    const response = await hub.fetch(path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...(key ? { authorization: `Bearer ${key}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') === true
    // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
    const json: any = isJson ? JSON.parse(text) : null
    return { status: response.status, headers: response.headers, body: json, text }
  }
  return { hub, native, join: native.join, send }
}

export type CompatHub = ReturnType<typeof createCompatHub>
