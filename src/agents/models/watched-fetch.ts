import { toWellFormedJson } from './to-sendable'

export type Fetch = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>

/** What a call learns of its response. */
export interface ResponseListener {
  /** No connection was made, or it broke before any answer. */
  onUnreachable(): void
  /** The server has answered with a success; its body follows. */
  onAnswered(): void
  onBytes(): void
}

/** Listeners of calls, by the calls' abort signals. */
export type ResponseListeners = WeakMap<AbortSignal, ResponseListener>

/**
 * Returns a fetch that notifies the listener of its signal of the response and of arriving bytes, keep-alive comments
 * included, which provider packages do not pass on. Redirects are not followed, because they would
 * forward the key. The body is well-formed Unicode, whatever the texts in it were.
 */
export function createWatchedFetch(fetch: Fetch, listeners: ResponseListeners): Fetch {
  return async (input, init) => {
    const listener = init?.signal ? listeners.get(init.signal) : undefined
    const body = init?.body
    const sent = typeof body === 'string' ? { body: toWellFormedJson(body) } : {}
    const response = await fetch(input, { ...init, ...sent, redirect: 'manual' }).catch((error) => {
      listener?.onUnreachable()
      throw error
    })
    if (!listener || !response.ok) return response
    listener.onAnswered()
    if (!response.body) return response
    return new Response(observeBytes(response.body, listener.onBytes), response)
  }
}

function observeBytes(body: ReadableStream<Uint8Array>, onBytes: () => void) {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) return controller.close()
      onBytes()
      controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
}
