import { resultsReadGrant } from '../results/tools/read'
import type { AskedCall } from './asked-call'
import { isTooLong } from './bound-text'
import { isGranted } from './decide'

/**
 * Keeps a result that is too large to be shown, free of credentials as it is by now, for who may read
 * it there (M10).
 *
 * @returns the handle; null when it is not kept
 */
export async function keepWhole(asked: AskedCall, text: string): Promise<string | null> {
  const { pipeline, caller, tool, policy } = asked
  if (!isTooLong(text, pipeline.resultBytesMax)) return null
  if (!policy || !isGranted(policy, resultsReadGrant)) return null
  try {
    return await pipeline.results.keep(caller.accountId, text)
  } catch (cause) {
    pipeline.reportFailure?.(tool.name, cause)
    return null
  }
}
