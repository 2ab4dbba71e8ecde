/** What pages use of `http/`: who sends a request, what a route accepts, and how errors are answered. */

export type { BlockOptions } from '../viewers/find-block'
export { pageCaching } from './answer-headers'
export {
  readCredential,
  readReader,
  readWithViewer,
  requireAdmin,
  requireAdminSender,
  requireAdminViewer,
  requireSameOrigin,
  requireSession,
  requireViewer,
  requireViewerWith,
  toActor,
  type ViewerRead,
} from './authenticate'
export { readCookie, writeCookie } from './cookies'
export { declareEntry, type EntryRule, pageRule } from './entry-rule'
export {
  isRefusedForNow,
  listDetails,
  logUnexpectedError,
  toAppError,
  toErrorResponse,
} from './errors'
export { findClientAddress } from './find-client-address'
export { asksForPage } from './guard-entry'
export { httpErrors } from './http-errors'
export type { HubEnv, RouteSummary } from './hub-env'
