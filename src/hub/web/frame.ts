import type { AccountKind } from '../contract'

/** Who looks at a page; null when nobody is signed in. */
export interface PageViewer {
  id: string
  name: string
  kind: AccountKind
  isAdmin: boolean
  /** Unread inbox items, for the header. */
  unreadCount: number
}

/** What every page of one answer has in common. */
export interface Frame {
  hubName: string
  viewer: PageViewer | null
  /** True when no provider key is set, so that agents use the built-in offline model. */
  isOffline: boolean
  /** Milliseconds since the Unix epoch: the page's one idea of now. */
  now: number
}

/** An answer to a form that could not be taken: what is wrong, and what was typed. */
export interface FormProblem {
  message: string
  hint: string | null
}
