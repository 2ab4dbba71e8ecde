/** What pages use of `http/`: who sends a request, what a route accepts, and how errors are answered. */

export type { BlockOptions } from '../viewers/reader'
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
export { readBoundedBody } from './bodies'
export {
  httpErrors,
  isRefusedForNow,
  listDetails,
  logUnexpectedError,
  toAppError,
  toErrorResponse,
} from './errors'
export { findClientAddress } from './find-client-address'
export { asksForPage, declareEntry, type EntryRule, pageRule } from './guard-entry'
export type { HubEnv, RouteSummary } from './hub-env'
export { fileCaching, pageCaching, readCookie, writeCookie } from './prepare-request'
