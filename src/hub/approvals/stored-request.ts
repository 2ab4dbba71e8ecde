import { approvals as settings } from '../../shared/config'
import { formatCount } from '../../shared/format'
import type { KeyPrefixes } from '../../shared/settings'
import type { ApprovalRequest } from '../contract/hub'
import { toArgumentParts, toText } from './format-arguments'

/** A request as it is stored: the exact call, and what remains of it once it is decided. */
export interface StoredRequest extends ApprovalRequest {
  maskedArguments: string
  /** The text of the approvers' inbox items. */
  notice: string
}

/** Adds the masked arguments and the notice to a request. */
export function toStoredRequest(request: ApprovalRequest, keys: KeyPrefixes): StoredRequest {
  const parts = toArgumentParts(request.arguments, { indent: 0, keys })
  const maskedArguments = toText(parts)
  return { ...request, maskedArguments, notice: writeNotice(request.tool, maskedArguments) }
}

/** Quotes the arguments whole or not at all: the end of a shortened text would be hidden. */
function writeNotice(tool: string, shown: string): string {
  const whole = `Wants to call ${tool} ${shown}`
  if (whole.length <= settings.excerptChars) return whole
  const count = formatCount(shown.length)
  return `Wants to call ${tool} with ${count} characters of arguments. Review them before you decide.`
}
