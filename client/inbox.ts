import type { InboxItem } from './api.ts'
import type { HubClient } from './client.ts'

/** The longest that the hub keeps a request waiting, in seconds. */
const waitSecondsMax = 30

/**
 * Waits until something in the inbox of the account is unread, and returns the newest unread items. The hub answers each request as
 * soon as there is one.
 *
 * @returns none when the time is up
 * @throws HubError; the signal's reason when it aborts
 */
export async function waitForInbox(
  client: HubClient,
  {
    timeoutMs = Number.POSITIVE_INFINITY,
    signal,
  }: { timeoutMs?: number; signal?: AbortSignal } = {},
): Promise<InboxItem[]> {
  const until = Date.now() + timeoutMs
  for (;;) {
    const leftSeconds = Math.ceil((until - Date.now()) / 1000)
    const wait = Math.max(0, Math.min(waitSecondsMax, leftSeconds))
    const query = { unread: 'true', wait }
    const page = await client.call('GET /inbox', { query, ...(signal && { signal }) })
    if (page.items.length > 0 || Date.now() >= until) return page.items
  }
}
