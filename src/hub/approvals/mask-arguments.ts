import { maskTrace } from '../activations/mask-trace'
import type { ApprovalRequest } from '../contract'
import { maskCredentials } from '../posts/credential-shapes'

/**
 * A call as people are asked about it: without what is shaped like a credential (H14). What runs is
 * the call itself, known by the hash of its arguments.
 */
export const maskArguments = (request: ApprovalRequest, keyPrefix: string): ApprovalRequest => ({
  ...request,
  arguments: maskCredentials(maskTexts(request.arguments, keyPrefix), keyPrefix),
})

function maskTexts(json: string, keyPrefix: string): string {
  try {
    return maskTrace(json, keyPrefix)
  } catch {
    return json
  }
}
