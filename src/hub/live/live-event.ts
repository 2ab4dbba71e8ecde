/** What watchers of a thread hear. Hints: whoever missed one reads the page again. */
export type LiveEvent =
  | { type: 'comment'; id: string; post_id: string }
  | {
      type: 'working'
      activation_id: string
      agent: { id: string; name: string }
      /** In words: "searching the hub". Null when it stopped. */
      doing: string | null
      /** Milliseconds since the Unix epoch. */
      since: number
    }

export type WorkingEvent = Extract<LiveEvent, { type: 'working' }>

/** The first message on a new socket: the newest comment told of, and who works now. */
export interface Hello {
  type: 'hello'
  last: string | null
  working: WorkingEvent[]
}

/** The topic of a thread. */
export const postTopic = (postId: string): string => `post:${postId}`

/** Work told of longer ago than this is taken for lost: its end was not heard. */
export const workingMsMax = 600_000
