import type { ModelProtocol } from '../../shared/runner-protocol'
import { isObject, type JsonObject, readField, readList, readText } from './json-fields'
import { answerCounts, knownContent, knownFields, knownParts } from './known-fields'
import { findUnmeasured, visitParts } from './measure-media'

/** Types of tools that the program runs itself; the provider would run all others, outside of the hub's grants. */
const ownTools: Record<ModelProtocol, RegExp> = {
  'anthropic-messages': /^(|custom|(bash|text_editor|memory)_\d{8})$/,
  'openai-chat': /^(function|custom)$/,
  'openai-responses': /^(function|custom|local_shell|apply_patch|shell|namespace|tool_search)$/,
}

/** Returns what in a body the gateway does not pass on; null: nothing. */
export function findUnsupported(protocol: ModelProtocol, body: JsonObject): string | null {
  for (const [name, value] of Object.entries(body)) {
    const problem = isAbsent(value) ? null : findFieldProblem(protocol, name, value)
    if (problem !== null) return problem
  }
  return findToolProblem(protocol, body.tools) ?? findContentProblem(protocol, body)
}

/** Whether a value says the same as no field. */
const isAbsent = (value: unknown): boolean =>
  value === null || value === false || (Array.isArray(value) && value.length === 0)

function findFieldProblem(protocol: ModelProtocol, name: string, value: unknown): string | null {
  if (answerCounts.includes(name)) return isOne(value) ? null : 'More than one answer'
  if (name === 'background') return 'An answer in the background'
  const { passed, dropped } = knownFields[protocol]
  if (name === 'modalities') return isTextOnly(value) ? null : 'An answer that is not text'
  if (!passed.includes(name) && !dropped.includes(name)) return `The field ${name.slice(0, 40)}`
  const parts = knownParts[protocol][name]
  const unknown =
    parts && Object.keys(isObject(value) ? value : {}).find((each) => !parts.includes(each))
  return unknown === undefined ? null : `The field ${name}.${unknown.slice(0, 40)}`
}

/** Servers read the number as text too. */
const isOne = (value: unknown): boolean => value === 1 || value === '1'

const isTextOnly = (value: unknown): boolean =>
  Array.isArray(value) && value.every((each) => each === 'text')

function findToolProblem(protocol: ModelProtocol, tools: unknown): string | null {
  if (tools === undefined || tools === null) return null
  if (!Array.isArray(tools)) return 'A list of tools that is none'
  const tool = tools.find((each) => !isOwnTool(protocol, each))
  return tool === undefined ? null : describeTool(tool)
}

const describeTool = (tool: unknown): string =>
  `A tool of the type ${readText(tool, 'type').slice(0, 40) || '?'}`

function isOwnTool(protocol: ModelProtocol, tool: unknown): boolean {
  if (!isObject(tool) || (tool.type !== undefined && typeof tool.type !== 'string')) return false
  const type = readText(tool, 'type')
  if (!ownTools[protocol].test(type)) return false
  if (type === 'namespace')
    return readList(tool, 'tools').every((each) => isOwnTool(protocol, each))
  // The provider looks for tools unless the program says that it does.
  if (type === 'tool_search') return tool.execution === 'client'
  // A shell with an environment is one of the provider's.
  const environment = readText(readField(tool, 'environment'), 'type')
  return type !== 'shell' || environment === '' || environment === 'local'
}

/** Returns the problem of a part of the prompt: of its type, of a tool that it brings, or of what it refers to. */
function findContentProblem(protocol: ModelProtocol, body: JsonObject): string | null {
  let problem: string | null = null
  const isWhole = visitParts([body.messages, body.input, body.system], (part, isItem) => {
    problem ??= findPartProblem(protocol, part, isItem)
  })
  return problem ?? (isWhole ? null : 'Content within content, many times over')
}

function findPartProblem(
  protocol: ModelProtocol,
  part: JsonObject,
  isItem: boolean,
): string | null {
  const { type } = part
  // An earlier answer that was spoken is stored at the provider.
  if (isItem && !isAbsent(part.audio ?? null)) return 'A reference to a stored answer'
  if (type === 'item_reference') return 'A reference to a stored item'
  if (type === undefined && isItem) return null
  if (typeof type !== 'string' || !knownContent[protocol].has(type))
    return `A content part of the type ${String(type ?? '?').slice(0, 40)}`
  const tool = listBrought(part).find((each) => !isOwnTool(protocol, each))
  return tool === undefined ? findUnmeasured(part) : describeTool(tool)
}

/** The tools that a part adds to those of the request. A reference to one of them adds none. */
function listBrought({ type, tools, tool }: JsonObject): unknown[] {
  if (type === 'tool_search_output') return Array.isArray(tools) ? tools : []
  const isAdded = type === 'tool_addition' && readText(tool, 'type') !== 'tool_reference'
  // one that is missing is none of the program's
  return isAdded ? [readField(tool, 'definition') ?? null] : []
}
