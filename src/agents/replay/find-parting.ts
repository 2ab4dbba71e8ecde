import { toCanonicalArguments } from '../../shared/exact-json'
import type { Parting, PartingReason } from '../contract/agents'
import type { LoopEvent, LoopEventOf, PromptLayer, RequestParameters } from '../loop/event'
import type { Message } from '../loop/message'
import { parseRecord } from '../run/record'
import { listCalls } from './recorded-run'

/** One answer of a model, with what led to it and what came of it. */
interface Step {
  /** What was added to the prompt since the answer before, besides results of tools. */
  added: string[]
  request: Partial<RequestParameters>
  text: string
  calls: string[]
  results: { name: string; text: string }[]
}

interface Run {
  prompt: Message[]
  layers: PromptLayer[]
  steps: Step[]
  outcome: string
}

type Difference = Omit<Parting, 'step'> | null

/**
 * Returns the first step at which two recorded runs differ, and why; null when they do the same. Times, durations, ids
 * and the status at the end of each prompt may differ.
 */
export function findParting(one: string, other: string): Parting | null {
  const [a, b] = [readRun(one), readRun(other)]
  const length = Math.max(a.steps.length, b.steps.length)
  const prompt = comparePrompts(a, b)
  if (prompt) return { step: 1, ...prompt }
  for (let index = 0; index < length; index++) {
    const difference = compareSteps(a.steps[index], b.steps[index])
    if (difference) return { step: index + 1, ...difference }
  }
  const step = Math.max(1, length)
  return a.outcome === b.outcome ? null : { step, ...part('end', describeEnds(a, b)) }
}

const part = (reason: PartingReason, detail: string) => ({ reason, detail })

const describeEnds = (a: Run, b: Run): string =>
  `One lane ended as ${toWords(a.outcome)}, the other as ${toWords(b.outcome)}.`

const toWords = (name: string): string => name.replaceAll('_', ' ')

/** The layers of a prompt, as people read of them. Those of tools follow from the tools that are offered. */
const layerNames: Record<PromptLayer, string> = {
  definition: 'the system prompt',
  bootstrap: 'the rules of the hub',
  memory: 'what the agent remembers',
  skills: 'the skills',
  tool_guide: 'the list of tools',
  tool_servers: 'what servers say about their tools',
  history: 'the conversation before',
  task: 'the task',
}

function comparePrompts(a: Run, b: Run): Difference {
  const kinds = Object.keys(layerNames) as PromptLayer[]
  const different = kinds.filter(
    (kind) => findDifference(takeLayer(a, kind), takeLayer(b, kind)) !== null,
  )
  const [first] = different.filter((kind) => !kind.startsWith('tool_'))
  const tools = different.length > 0 ? compareTools(firstRequest(a), firstRequest(b)) : null
  const kind = first ?? different[0]
  if (first === undefined && tools) return tools
  return kind ? part('prompt', `The first prompts differ in ${layerNames[kind]}.`) : null
}

/** Returns the messages of a layer; without layers the whole prompt stands for the task. */
const takeLayer = ({ prompt, layers }: Run, kind: PromptLayer): string[] =>
  prompt.filter((_, index) => (layers[index] ?? 'task') === kind).map(toText)

const firstRequest = ({ steps }: Run): Step['request'] => steps[0]?.request ?? {}

function compareSteps(a: Step | undefined, b: Step | undefined): Difference {
  if (!a || !b) return part('end', 'One lane had ended here, and the other called its model again.')
  return (
    compareAdded(a, b) ??
    compareTools(a.request, b.request) ??
    compareModels(a.request, b.request) ??
    compareChoices(a, b) ??
    compareResults(a, b)
  )
}

function compareAdded({ added: a, request: one }: Step, { added: b, request: other }: Step) {
  if (findDifference(a, b) !== null) {
    return part(
      'prompt',
      'Other comments had joined, or the conversation was summarized otherwise.',
    )
  }
  return one.systemPrompt === other.systemPrompt
    ? null
    : part('prompt', 'Hooks changed the instructions otherwise.')
}

function compareTools(one: Step['request'], other: Step['request']): Difference {
  const [{ tools: a = [] }, { tools: b = [] }] = [one, other]
  const only = [...a.filter((name) => !b.includes(name)), ...b.filter((name) => !a.includes(name))]
  if (only.length === 0 && findDifference(a, b) === null) {
    return one.toolsHash === other.toolsHash
      ? null
      : part('tools', 'The same tools were offered with other descriptions or arguments.')
  }
  const detail =
    only.length === 0
      ? 'The same tools were offered in another order.'
      : `Only one of them was offered ${only.join(', ')}.`
  return part('tools', detail)
}

function compareModels(a: Step['request'], b: Step['request']): Difference {
  if (a.model !== b.model) return part('model', `One called ${a.model}, the other ${b.model}.`)
  const isSame = a.temperature === b.temperature && a.topP === b.topP
  return isSame ? null : part('model', `${a.model} was called with other settings.`)
}

function compareChoices(a: Step, b: Step): Difference {
  if (findDifference(a.calls, b.calls) !== null) {
    return part(
      'choice',
      `After the same prompt one ${describeCalls(a)}, the other ${describeCalls(b)}.`,
    )
  }
  return a.text === b.text ? null : part('choice', 'After the same prompt they wrote other words.')
}

const describeCalls = ({ results }: Step): string =>
  results.length === 0 ? 'called no tool' : `called ${results.map(({ name }) => name).join(', ')}`

function compareResults({ results: a }: Step, { results: b }: Step): Difference {
  const index = findDifference(
    a.map(({ text }) => text),
    b.map(({ text }) => text),
  )
  return index === null
    ? null
    : part('tool_answer', `${a[index]?.name ?? b[index]?.name} answered otherwise.`)
}

/** Returns the first place at which two lists differ; null when they are equal. */
function findDifference(a: readonly string[], b: readonly string[]): number | null {
  const length = Math.max(a.length, b.length)
  for (let index = 0; index < length; index++) if (a[index] !== b[index]) return index
  return null
}

const toText = (message: Message): string => JSON.stringify(message)

function readRun(stored: string): Run {
  const parsed = parseRecord(stored)
  if (!parsed.ok) return { prompt: [], layers: [], steps: [], outcome: '' }
  const { events, ending } = parsed.record
  const { prompt = [], layers = [] } = events.find((event) => event.type === 'loaded')?.facts ?? {}
  return { prompt, layers, steps: listSteps(events), outcome: ending?.outcome ?? '' }
}

function listSteps(events: LoopEvent[]): Step[] {
  const results = collectResults(events)
  const called = listCalls(events)
  const steps: Step[] = []
  let added: string[] = []
  let offered: Pick<RequestParameters, 'tools' | 'toolsHash'> = {}
  for (const event of events) {
    added.push(...readAdded(event))
    if (event.type !== 'model_answered' && event.type !== 'model_failed') continue
    const { tools, toolsHash } = event.request ?? {}
    if (tools) offered = { tools, ...(toolsHash !== undefined && { toolsHash }) }
    if (event.type === 'model_failed') continue
    const calls = called.filter(({ step }) => step === steps.length + 1).map(({ call }) => call)
    steps.push({
      added,
      request: { ...event.request, ...offered },
      text: event.answer.text,
      calls: event.answer.calls.map(
        ({ name, arguments: args }) => `${name} ${toCanonicalArguments(args)}`,
      ),
      results: calls.map(({ callId, name }) => ({ name, text: results.get(callId) ?? '' })),
    })
    added = []
  }
  return steps
}

/** Returns what an event adds to the prompt. */
function readAdded(event: LoopEvent): string[] {
  if (event.type === 'steered') return event.items.map(({ text }) => text)
  return event.type === 'compacted' ? [event.summary] : []
}

/** Returns the results of calls by their ids, with the decisions of those that did not run. */
function collectResults(events: LoopEvent[]): Map<string, string> {
  const results = new Map<string, string>()
  for (const event of events) {
    for (const [callId, text] of readResults(event)) results.set(callId, text)
  }
  return results
}

function readResults(event: LoopEvent): [callId: string, text: string][] {
  if (event.type === 'tool_returned') return [[event.callId, toResultText(event)]]
  if (event.type !== 'resumed') return []
  return event.decisions.flatMap(({ callId, decision, note }) =>
    decision === 'approved' ? [] : [[callId, `${decision} ${note}`]],
  )
}

const toResultText = ({ text, isError }: LoopEventOf<'tool_returned'>): string =>
  `${isError ? 'error' : 'ok'} ${text}`
