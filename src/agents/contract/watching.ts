import type { ActivationId } from '../../shared/ids'

/** What a watcher of an activation asks for. Part of the agents' contract. */
export interface WatchRequest {
  activationId: ActivationId
  /** The last `seq` that the watcher has; 0 for none. */
  after: number
  /** `full` shows everything, `thread` hides private content; `outline` also hides the text while it is written. */
  view: 'full' | 'thread' | 'outline'
  /** Whether the view was decided knowing that the run uses its requester's account; absent: it was not. */
  knowsOwnAccount?: boolean
  tags?: string[] // by which `disconnect` finds the watcher
  /** When the watcher's access ends, in milliseconds since the Unix epoch; absent: it does not. */
  until?: number
}
