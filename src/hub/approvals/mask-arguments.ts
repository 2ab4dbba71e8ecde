import { maskTrace } from '../activations/mask-trace'
import type { ApprovalRequest } from '../contract/hub'
import { maskCredentials } from '../posts/credential-patterns'

/**
 * Returns a call with credentials in its arguments masked, as it is shown to approvers. The original call
 * runs, identified by the hash of its arguments.
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
