import { noPrivacy } from '../../hub/contract/privacy'
import { resultsReadName } from '../results/tools/read'
import { decide } from './decide'
import { isPrivateResult, type PendingCall } from './pending-call'
import { isTooLong } from './truncate-text'

/**
 * Stores a result that is too large for one response, if the caller can read stored results. Its
 * credentials are redacted already. A result with private data is private, also in a public run. In a closed
 * community it would be for all who read there, so one of a requester's own account is not stored.
 *
 * @returns the handle; null when the result is not stored
 */
export async function storeResult(asked: PendingCall, text: string): Promise<string | null> {
  const { pipeline, caller, tool, policy } = asked
  if (!isTooLong(text, pipeline.resultBytesMax)) return null
  const reader = pipeline.tools.getOwn(resultsReadName)
  if (!policy || !reader || !decide(policy, caller, reader).isAllowed) return null
  try {
    const { reader, privateTo, community } = caller.privacy ?? noPrivacy
    if (asked.usesOwnAccount && community !== undefined) return null
    const owner = isPrivateResult(asked) ? reader : privateTo
    return await pipeline.results.keep(caller.accountId, text, owner)
  } catch (cause) {
    pipeline.reportFailure?.(tool.name, cause)
    return null
  }
}
