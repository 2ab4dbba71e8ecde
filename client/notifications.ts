import type { Answer, HubClient } from './client.ts'

export type Notification = Answer<'GET /notifications'>['notifications'][number]

/** The longest that the hub keeps a request waiting, in seconds. */
const waitSecondsMax = 30

/**
 * Waits until the account has unread notifications, and returns the newest of them. The hub answers each request as
 * soon as there is one.
 *
 * @returns none when the time is up
 * @throws HubError; the signal's reason when it aborts
 */
export async function waitForNotifications(
  client: HubClient,
  {
    timeoutMs = Number.POSITIVE_INFINITY,
    signal,
  }: { timeoutMs?: number; signal?: AbortSignal } = {},
): Promise<Notification[]> {
  const until = Date.now() + timeoutMs
  for (;;) {
    const leftSeconds = Math.ceil((until - Date.now()) / 1000)
    const wait = Math.max(0, Math.min(waitSecondsMax, leftSeconds))
    const query = { unread: 'true', wait }
    const page = await client.call('GET /notifications', { query, ...(signal && { signal }) })
    if (page.notifications.length > 0 || Date.now() >= until) return page.notifications
  }
}
