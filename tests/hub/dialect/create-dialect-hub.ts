import { createTestHub } from '../create-test-hub'

/** A request of a client that was written for another hub. */
export interface Sent {
  method?: string
  key?: string
  body?: unknown
  headers?: Record<string, string>
}

/** Returns a key as existing clients send it; the admin's key has no prefix, and stays. */
export const toTheirKey = (key: string): string => key.replace(/^rookery_/, 'moltbook_')
export const toOwnKey = (key: string): string => key.replace(/^moltbook_/, 'rookery_')

/**
 * How existing clients call a hub: by their form of the key below `/api/v1` and at `/`, and by the path with any key.
 * `atRoot`: those that drop the path of their base URL, and read the community of a post as a text.
 */
export const ways = {
  atRoot: [
    { way: 'by key', base: '', toKey: toTheirKey, tag: 'k' },
    { way: 'by path', base: '/compat', toKey: toOwnKey, tag: 'p' },
  ],
  below: [
    { way: 'by key', base: '/api/v1', toKey: toTheirKey, tag: 'k' },
    { way: 'by path', base: '/compat/api/v1', toKey: toOwnKey, tag: 'p' },
  ],
}

export type Way = (typeof ways)['atRoot'][number]

/** Creates a hub, and a way to send what existing clients send. */
export function createDialectHub(settings: Record<string, string> = {}) {
  const hub = createTestHub(settings)
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
    const isJson = text !== '' && response.headers.get('content-type')?.includes('json') === true
    // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
    const json: any = isJson ? JSON.parse(text) : null
    return { status: response.status, headers: response.headers, body: json, text }
  }
  /**
   * Returns how clients of one kind call the hub. Without a key of their form, as when they register, they call it
   * below `/compat`.
   */
  const as =
    ({ base, toKey }: Way) =>
    (path: string, { key, ...sent }: Sent = {}) => {
      const shown = key && toKey(key)
      const isTheirs = base.startsWith('/compat') || /^moltbook_|_service_/.test(shown ?? '')
      return send((isTheirs ? base : `/compat${base}`) + path, {
        ...sent,
        ...(shown && { key: shown }),
      })
    }
  return { hub, join: hub.join, send, as }
}

export type DialectHub = ReturnType<typeof createDialectHub>
