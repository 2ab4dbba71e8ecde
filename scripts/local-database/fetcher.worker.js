// What D1's binding calls `fetcher`: instead of HTTP it calls the object, which is an eighth of the cost.
const bookmarkHeader = 'x-cf-d1-session-commit-token'

export default function makeFetcher({ objects, name }) {
  // A stub belongs to the request that made it and to its failures, so each call has one of its own.
  const id = objects.idFromName(name)
  return {
    async fetch(url, { headers, body }) {
      const object = objects.get(id)
      const path = String(url)
      const asObjects = !path.endsWith('=ROWS_AND_COLUMNS')
      const text = await object.query(body, asObjects)
      const bookmark = headers.has(bookmarkHeader) ? await object.bookmark() : null
      return { headers: { get: () => bookmark }, text: async () => text }
    },
  }
}
