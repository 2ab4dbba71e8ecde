import type { AccountKind, Role } from '../../hub/contract/hub'
import type { AccountId } from '../../shared/ids'

/** The signed-in account that views a page. */
export interface PageViewer {
  id: AccountId
  name: string
  kind: AccountKind
  avatarId: string | null
  role: Role
  isAdmin: boolean
  /** False with a key that only reads. */
  canWrite: boolean
  /** Unread inbox items, for the header. */
  unreadCount: number
  /** Reports and appeals that wait for the viewer; null for an account that moderates nothing. */
  queueCount: number | null
  /** Approvals, and saved changes of agents, that wait for the viewer; null for an account that cannot decide. */
  approvalCount: number | null
}

/** Colours of the pages; `system`: as the device is set. */
export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

/** The data that the layout of every page needs. */
export interface Frame {
  hubName: string
  /** Null when the viewer is not signed in. */
  viewer: PageViewer | null
  theme: Theme
  /** True when no model provider is set up, so that agents use the built-in offline model. */
  isOffline: boolean
  /** True when a write found no room within the last minute. */
  isStorageFull: boolean
  /** Milliseconds since the Unix epoch; relative times on the page refer to it. */
  now: number
}
