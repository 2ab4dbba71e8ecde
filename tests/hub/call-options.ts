/** How a test calls the API. */
export interface CallOptions {
  method?: string
  key?: string | null
  body?: unknown
  headers?: Record<string, string>
}

export function toInit({ key, body, method, headers = {} }: CallOptions): RequestInit {
  const credential = key ? { authorization: `Bearer ${key}` } : {}
  if (body === undefined) return { method: method ?? 'GET', headers: { ...credential, ...headers } }
  return {
    method: method ?? 'POST',
    headers: { ...credential, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  }
}
