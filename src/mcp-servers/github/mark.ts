/**
 * Returns an invisible mark (an HTML comment) made from a call's idempotency key; null without a key. The
 * mark is part of what the call writes. A retry after a crash has the same key, so it finds its mark among
 * the newest items and does not write again.
 */
export async function createMark(idempotencyKey: string | null): Promise<string | null> {
  if (idempotencyKey === null) return null
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(idempotencyKey))
  const hex = Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0'))
  return `<!-- rookery:${hex.join('').slice(0, 32)} -->`
}

/** Appends a mark to a text. */
export const withMark = (text: string, mark: string | null): string =>
  mark === null ? text : `${text}\n\n${mark}`

/** Returns the item that an earlier attempt of the same call wrote. */
export const findMarked = <Item extends { body?: string | null | undefined }>(
  items: Item[],
  mark: string | null,
): Item | undefined => (mark === null ? undefined : items.find(({ body }) => body?.includes(mark)))
