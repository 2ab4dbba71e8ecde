import { admitCalls } from './admit-calls'
import type { LoopEvent, LoopEventOf } from './event'
import type { Message, ToolOutput } from './message'
import type { Ending } from './state'

const emptyNote = '[note] Your last answer was empty. Answer the task in words, or call a tool.'

/**
 * The conversation so far, from the journal of one activation. Only ever grows at its end, so the
 * prompt of a step is a prefix of the next one's. Every call has exactly one result, in call order,
 * on every path (L4, L5).
 */
export function buildTranscript(events: LoopEvent[]): Message[] {
  const results = collectResults(events)
  const messages: Message[] = []
  const seen: string[] = []
  for (const event of events) {
    if (event.type === 'loaded') messages.push(...event.facts.prompt)
    if (event.type !== 'model_answered') continue
    messages.push(...showAnswer(event, seen, results))
  }
  return messages
}

function showAnswer(
  { answer }: LoopEventOf<'model_answered'>,
  seen: string[],
  results: Results,
): Message[] {
  const calls = admitCalls(answer.calls, seen, answer.finish === 'length')
  seen.push(...calls.map(({ callId }) => callId))
  if (calls.length === 0) {
    if (answer.text.trim() === '') return [{ role: 'user', text: emptyNote }]
    return [{ role: 'assistant', text: answer.text, calls: [] }]
  }
  return [
    {
      role: 'assistant',
      text: answer.text,
      calls: calls.map(({ callId, name, arguments: args }) => ({ callId, name, arguments: args })),
      ...(answer.providerParts ? { providerParts: answer.providerParts } : {}),
    },
    {
      role: 'tool',
      results: calls.map(({ callId, name, refusal }) =>
        refusal === null
          ? results.find(callId, name)
          : { callId, name, text: refusal, isError: true },
      ),
    },
  ]
}

interface Results {
  find(callId: string, name: string): ToolOutput
}

const unknownOutcome =
  'Error: the outcome is unknown: the machine stopped while this ran. Check before you do it again.'

const unrun = {
  cancel_requested: 'Error: operation cancelled by user.',
  time_ran_out: 'Error: time ran out before this call returned.',
} as const

/** What each call came to; a call without an outcome says why it has none. */
function collectResults(events: LoopEvent[]): Results {
  const returned = new Map<string, ToolOutput>()
  const keep = (output: ToolOutput) => {
    if (!returned.has(output.callId)) returned.set(output.callId, output)
  }
  let fallback = 'Error: this call was not run.'
  for (const event of events) {
    if (event.type === 'tool_returned') {
      const { callId, name, text, isError } = event
      keep({ callId, name, text, isError })
    } else if (event.type === 'interrupted') {
      for (const callId of event.unknownCallIds)
        keep({ callId, name: '', text: unknownOutcome, isError: true })
    } else if (event.type === 'cancel_requested' || event.type === 'time_ran_out') {
      fallback = unrun[event.type]
    }
  }
  return {
    find: (callId, name) => ({
      ...(returned.get(callId) ?? { callId, text: fallback, isError: true }),
      name,
    }),
  }
}

const cutNote = '\n\n*(My answer was cut here: it reached the length I am allowed.)*'

/** What is posted for an ending; null posts nothing (L6, L9, L35). */
export function composeReply(ending: Ending, events: LoopEvent[], askers: string[]): string | null {
  if (ending.reply === 'silent') return null
  const answers = events.filter((event) => event.type === 'model_answered')
  const last = answers.at(-1)
  if (ending.reply === 'answer') {
    const text =
      (last?.answer.text.trim() ?? '') + (last?.answer.finish === 'length' ? cutNote : '')
    return nameAskers(text, askers)
  }
  if (ending.reply === 'notice') return nameAskers(ending.text, askers)
  const soFar = answers.map(({ answer }) => answer.text.trim()).findLast((text) => text !== '')
  return nameAskers(soFar ? `${soFar}\n\n*${ending.text}*` : ending.text, askers)
}

/** Names everybody who asked and is not named yet; on a line of its own before Markdown blocks. */
export function nameAskers(text: string, askers: string[]): string {
  const lower = text.toLowerCase()
  const missing = askers.filter((name) => !lower.includes(`@${name.toLowerCase()}`))
  if (missing.length === 0) return text
  const names = missing.map((name) => `@${name}`).join(' ')
  const startsAsProse = /^[\p{L}\p{N}"'“(]/u.test(text) && !/^\d+[.)]\s/.test(text)
  return startsAsProse ? `${names} ${text}` : `${names}\n\n${text}`
}
