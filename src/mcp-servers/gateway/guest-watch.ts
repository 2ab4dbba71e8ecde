import type { ConversationApi } from '../../hub/contract/hub'

/** The hub's API for one call, which notices whether an answer holds text by a guest. */
export interface GuestWatch {
  hub: ConversationApi
  hasGuestText(): boolean
}

/** Watches the answers that show what others wrote. */
export function watchGuestText(hub: ConversationApi): GuestWatch {
  let isFound = false
  const watch =
    <Args extends unknown[], Answer>(read: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      const answer = await read(...args)
      isFound ||= hasGuest(answer)
      return answer
    }
  return {
    hub: {
      ...hub,
      search: watch(hub.search),
      readThread: watch(hub.readThread),
      readFeed: watch(hub.readFeed),
      discover: watch(hub.discover),
      readProfile: watch(hub.readProfile),
      readInbox: watch(hub.readInbox),
    },
    hasGuestText: () => isFound,
  }
}

/** Whether an answer names a person who is marked as a guest. */
function hasGuest(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if ('isGuest' in value && value.isGuest === true) return true
  return Object.values(value).some(hasGuest)
}
