export type Fetch = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>

/** What to tell about each call's bytes, found by the signal that the call was given. */
export type ByteListeners = WeakMap<AbortSignal, () => void>

/**
 * A fetch that tells the call it belongs to whenever bytes arrive, comments that keep a stream
 * alive included: the provider packages show events only. It follows no redirect, because the
 * key would travel along.
 */
export function createWatchedFetch(fetch: Fetch, listeners: ByteListeners): Fetch {
  return async (input, init) => {
    const onBytes = init?.signal ? listeners.get(init.signal) : undefined
    const response = await fetch(input, { ...init, redirect: 'manual' })
    onBytes?.()
    if (!onBytes || !response.body || !response.ok) return response
    return new Response(tellBytes(response.body, onBytes), response)
  }
}

function tellBytes(body: ReadableStream<Uint8Array>, onBytes: () => void) {
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
