/** Events of GitHub's webhooks, as far as the hub reads them, and their signature. */

/** Signs the text of an event as GitHub does. */
export async function signEvent(text: string, secret: string): Promise<string> {
  const bytes = (of: string) => new TextEncoder().encode(of)
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', bytes(secret), algorithm, false, ['sign'])
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, bytes(text)))
  const hex = Array.from(signature, (byte) => byte.toString(16).padStart(2, '0'))
  return `sha256=${hex.join('')}`
}

let ids = 0
/** Returns an id that no earlier event has. */
export const newEventId = (): number => ++ids

export const repository = { full_name: 'Acme/Tools' }
export const pullOf = (ref: string, repo: object | null = repository) => ({
  number: 12,
  head: { ref, repo },
})
export const person = (login = 'octocat', author_association = 'MEMBER') => ({
  user: { login },
  author_association,
})
/** A submitted review. */
export const review = (ref: string, fields: object = {}, repo: object | null = repository) => ({
  action: 'submitted',
  repository,
  pull_request: pullOf(ref, repo),
  review: {
    id: ++ids,
    state: 'changes_requested',
    body: 'Please handle leap years.',
    ...person(),
    ...fields,
  },
})
