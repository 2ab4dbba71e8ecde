import type { ModelProtocol } from '../../shared/runner-protocol'
import { type JsonObject, readField, readList, readText } from './json-fields'
import { findUnmeasured } from './measure-media'

/** Types of tools that the program runs itself; the provider would run all others, outside of the hub's grants. */
const ownTools: Record<ModelProtocol, RegExp> = {
  'anthropic-messages': /^(|custom|(bash|text_editor|computer|memory)_\d+)$/,
  'openai-chat': /^(function|custom)$/,
  'openai-responses': /^(function|custom|local_shell|apply_patch|shell|namespace)$/,
}

/** Fields with which a provider runs tools, reads what is not in the request, or works on after the answer. */
const refusedFields: Record<ModelProtocol, string[]> = {
  'anthropic-messages': ['mcp_servers', 'container', 'fallbacks'],
  'openai-chat': ['web_search_options', 'audio'],
  'openai-responses': ['previous_response_id', 'conversation', 'prompt'],
}

/** Returns what in a body the gateway does not pass on; null: nothing. */
export function findUnsupported(protocol: ModelProtocol, body: JsonObject): string | null {
  const field = refusedFields[protocol].find((name) => (body[name] ?? null) !== null)
  if (field !== undefined) return `The field ${field}`
  if (body.background === true) return 'An answer in the background'
  if (typeof body.n === 'number' && body.n !== 1) return 'More than one answer'
  const tool = readList(body, 'tools').find((each) => !isOwnTool(protocol, each))
  if (tool !== undefined) return `A tool of the type ${readText(tool, 'type').slice(0, 40) || '?'}`
  return findUnmeasured([body.messages, body.input, body.system])
}

function isOwnTool(protocol: ModelProtocol, tool: unknown): boolean {
  const type = readText(tool, 'type')
  if (!ownTools[protocol].test(type)) return false
  if (type === 'namespace')
    return readList(tool, 'tools').every((each) => isOwnTool(protocol, each))
  // A shell with an environment is one of the provider's.
  const environment = readText(readField(tool, 'environment'), 'type')
  return type !== 'shell' || environment === '' || environment === 'local'
}
