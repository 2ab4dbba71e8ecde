/**
 * After so many bytes others get their turn: a server that sends faster than a body can be read would otherwise keep the
 * process to itself.
 */
const unbrokenBytesMax = 64 * 1024

/**
 * Returns a response whose body ends after a number of bytes; the connection of a longer one is closed. Libraries that
 * read a response read all of it, and the server decides how long that is.
 *
 * @param onBytes called when bytes arrive
 */
export function truncateBody(
  response: Response,
  bytesMax: number,
  onBytes: () => void = () => undefined,
): Response {
  if (response.body === null) return response
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader()
  let left = bytesMax
  let unbroken = 0
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) return controller.close()
      onBytes()
      unbroken += value.length
      if (unbroken > unbrokenBytesMax) {
        unbroken = 0
        await new Promise((resolve) => setTimeout(resolve, 0))
      }
      controller.enqueue(value.length <= left ? value : value.subarray(0, left))
      left -= value.length
      if (left > 0) return
      controller.close()
      await reader.cancel().catch(() => undefined)
    },
    cancel: (reason) => reader.cancel(reason),
  })
  const headers = new Headers(response.headers)
  headers.delete('content-length')
  return new Response(body, { status: response.status, statusText: response.statusText, headers })
}
