import { resultsReadName } from '../results/tools/read'
import type { AskedCall } from './asked-call'
import { isTooLong } from './bound-text'
import { decide } from './decide'

/**
 * Keeps a result that is too large to be shown, free of credentials as it is by now, for who may read
 * it there (M10).
 *
 * @returns the handle; null when it is not kept
 */
export async function keepWhole(asked: AskedCall, text: string): Promise<string | null> {
  const { pipeline, caller, tool, policy } = asked
  if (!isTooLong(text, pipeline.resultBytesMax)) return null
  const reader = pipeline.tools.getOwn(resultsReadName)
  if (!policy || !reader || !decide(policy, caller, reader).isAllowed) return null
  try {
    return await pipeline.results.keep(caller.accountId, text)
  } catch (cause) {
    pipeline.reportFailure?.(tool.name, cause)
    return null
  }
}
