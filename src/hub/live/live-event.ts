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

/** What the database says of a thread while its socket opens. */
export interface Known {
  /** The post's count of comments. Their times and ids do not tell which was committed last. */
  comments: number
  /** Who works; what each is doing only the agents tell. */
  working: { activation_id: string; agent: { id: string; name: string }; since: number }[]
}

/** The first message on a new socket. */
export type Hello = Known & { type: 'hello' }

/** The topic of a thread. */
export const postTopic = (postId: string): string => `post:${postId}`
