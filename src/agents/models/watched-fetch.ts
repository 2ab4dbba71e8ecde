export type Fetch = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>

/** Listeners for the bytes of calls, by the calls' abort signals. */
export type ByteListeners = WeakMap<AbortSignal, () => void>

/**
 * Returns a fetch that calls the listener of its signal whenever bytes arrive, keep-alive comments
 * included, which provider packages do not pass on. Redirects are not followed, because they would
 * forward the key.
 */
export function createWatchedFetch(fetch: Fetch, listeners: ByteListeners): Fetch {
  return async (input, init) => {
    const onBytes = init?.signal ? listeners.get(init.signal) : undefined
    const response = await fetch(input, { ...init, redirect: 'manual' })
    onBytes?.()
    if (!onBytes || !response.body || !response.ok) return response
    return new Response(observeBytes(response.body, onBytes), response)
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
