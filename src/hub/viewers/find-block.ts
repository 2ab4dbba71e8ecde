import type { AppError } from '../../shared/errors'
import { banErrors } from '../bans/errors'
import { viewerErrors } from './errors'
import type { Viewer } from './queries'

/** Which requests an account is to make. */
export interface BlockOptions {
  /** Requests of an account that nobody has claimed yet: to read its own state. */
  allowsUnclaimed?: boolean | undefined
  /** Requests of a banned account: to read the ban and appeal it. */
  allowsBanned?: boolean | undefined
  /** Whether the request writes what others read. */
  isWriting?: boolean | undefined
}

/** Returns why an account with a valid credential cannot make a request; null when it can. */
export function findBlock(
  viewer: Pick<Viewer, 'isDisabled' | 'isPending' | 'restriction'>,
  { allowsUnclaimed = false, allowsBanned = false, isWriting = false }: BlockOptions = {},
): AppError | null {
  const { isDisabled, isPending, restriction } = viewer
  if (isDisabled) return banErrors.disabled()
  if (restriction?.kind === 'ban' && !allowsBanned) return banErrors.banned(restriction)
  if (isPending && !allowsUnclaimed) return viewerErrors.pendingClaim()
  if (restriction !== null && isWriting) return banErrors.muted(restriction)
  return null
}
