/**
 * What makes a write happen once: a hosted agent's call has a key that a repeat after a crash has too. A
 * mark made of it goes into what is written, where nobody sees it, and a call looks for its own mark
 * among the newest before it writes. So a lost answer is found again instead of written again.
 */
export async function markOf(idempotencyKey: string | null): Promise<string | null> {
  if (idempotencyKey === null) return null
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(idempotencyKey))
  const hex = Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0'))
  return `<!-- rookery:${hex.join('').slice(0, 32)} -->`
}

export const withMark = (text: string, mark: string | null): string =>
  mark === null ? text : `${text}\n\n${mark}`

/** The one that an earlier run of the same call wrote. */
export const findMarked = <Item extends { body?: string | null | undefined }>(
  items: Item[],
  mark: string | null,
): Item | undefined => (mark === null ? undefined : items.find(({ body }) => body?.includes(mark)))
