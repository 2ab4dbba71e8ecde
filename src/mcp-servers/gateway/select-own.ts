import { noPrivacy } from '../../hub/contract/privacy'
import type { PendingCall } from './pending-call'

/** Returns the part of a tool's context that belongs to the account and its run. */
export const selectOwn = ({ reads, caller }: PendingCall) => ({
  ...reads.stores,
  privacy: caller.privacy ?? noPrivacy,
  hasReadUntrusted: caller.hasReadUntrusted ?? false,
})
