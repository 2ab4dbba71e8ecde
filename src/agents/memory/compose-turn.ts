import { type DataOwner, noPrivacy } from '../../hub/contract/hub'
import { compaction, memoryLimits } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import type { ActivationId } from '../../shared/ids'
import type { LastCall, SessionMessage } from '../contract/agents'
import {
  type ContextWindow,
  type Conversation,
  checkWindow,
  extractSummary,
  planCompaction,
  replaceOldest,
} from '../loop/compaction'
import type { LoadedFacts, LoopEvent } from '../loop/event'
import {
  countTotalChars,
  estimateTokensOfChars,
  type Message,
  type ToolRequest,
} from '../loop/message'
import { hasReadUntrusted, hasUsedOwnAccount } from '../loop/privacy'
import { composeReply } from '../loop/reply'
import type { Ending, LoopState } from '../loop/state'
import { foldConversation, toMessages } from '../loop/transcript'
import { sumSpend } from '../run/charges'
import { countTools } from '../run/counters'
import { describeProgress, toRunLog } from '../run/run-log'
import { truncate } from '../text/truncate'
import type { MemoryStore, StoredActivation } from './memory-store'
import { saveProgramSession } from './program-sessions'

/** The grant of the hub's tools that read. */
const hubReadGrant = 'hub:read'

interface FinishedActivation {
  activationId: ActivationId
  at: number
  events: LoopEvent[]
  ending: Ending
  /** The context window after its last model call. */
  window: ContextWindow
}

/**
 * Returns a finished activation as a turn of its session; null when the agent has no memory. After a
 * compaction the turn includes the rest of the older history, and the summary replaces everything
 * before it.
 */
export function composeTurn(finished: FinishedActivation): StoredActivation | null {
  const { activationId, at, events, ending } = finished
  const facts = events.find((event) => event.type === 'loaded')?.facts
  const session = facts?.session
  if (!session) return null
  const folded = foldConversation(events)
  const conversation = wasRefused(events)
    ? toWords(folded)
    : compactIfNeeded(folded, finished.window)
  const { summary, history, run } = quotesOwnAccount(facts, events) ? nothing : conversation
  const messages = truncateMessages(
    [...(summary === null ? [] : history), { role: 'user', text: session.task }, ...run],
    findHubReads(events),
  )
  const reply = composeReply(
    ending,
    events,
    facts.answer?.requesters ?? [],
    describeProgress(ending, events),
  )
  const log = toRunLog(events, null)
  const { isPriced: _, ...usage } = sumSpend(log.events)
  const last = messages.at(-1)
  const isAnswered = last?.role === 'assistant' && last.calls.length === 0
  if (reply !== null && !isAnswered) messages.push({ role: 'assistant', text: reply, calls: [] })
  return {
    activationId,
    sessionId: session.id,
    at,
    gist: session.gist === '' ? '' : composeGist(session.gist, reply, endOf(messages)),
    messages,
    usage,
    lastCall: findLastCall(events, finished.window),
    tools: countTools(log.events),
    summary,
    privateTo: findOwner(facts, events),
    isUntrusted: hasReadUntrusted(facts, events),
  }
}

/**
 * Returns the ids of calls that read posts, comments and messages of the hub. Their results are not kept: whatever is
 * edited or deleted there later is gone from the session, and the agent reads it again.
 */
const findHubReads = (events: LoopEvent[]): ReadonlySet<string> =>
  new Set(
    events.flatMap((event) => {
      if (event.type === 'tool_returned')
        return event.audit?.grant === hubReadGrant ? [event.callId] : []
      return event.type === 'program_call_returned' && event.grant === hubReadGrant
        ? [event.callId]
        : []
    }),
  )

/**
 * Returns the account whose runs alone can use this turn: that of a private run, and the reader of a public
 * run that read private data, since its messages can quote it. Null: all runs can.
 */
function findOwner(
  { privacy = noPrivacy, hasPrivate }: LoadedFacts,
  events: LoopEvent[],
): DataOwner | null {
  const hasRead =
    hasPrivate ||
    events.some(
      (event) =>
        (event.type === 'tool_returned' || event.type === 'program_call_returned') &&
        event.isPrivate,
    )
  return hasRead ? privacy.reader : privacy.privateTo
}

/**
 * Whether the messages of a run can quote what the connected account of its requester returned, in a closed
 * community, whose members share the turns. Then the turn has the answer that they read anyway, and nothing else.
 */
const quotesOwnAccount = ({ privacy }: LoadedFacts, events: LoopEvent[]): boolean =>
  privacy?.community !== undefined && hasUsedOwnAccount(events)

/** Whether the run ended because the provider takes no such prompt. */
function wasRefused(events: LoopEvent[]): boolean {
  const last = events.findLast(
    (event) => event.type === 'model_failed' || event.type === 'model_answered',
  )
  return last?.type === 'model_failed' && last.failure.refusesPrompt === true
}

/**
 * Returns a conversation as what was said in it. Which of its messages the provider refused is not known: none may come
 * back in the next run as it was, or that would be refused too.
 */
function toWords({ head, summary, history, task, run }: Conversation): Conversation {
  const before = [...history, ...run]
  const { summaryCharsMax } = compaction
  const words = before.length > 0 ? extractSummary(before, summary, summaryCharsMax) : summary
  return { head, summary: words, history: [], task, run: [] }
}

const nothing: Pick<Conversation, 'summary' | 'history' | 'run'> = {
  summary: null,
  history: [],
  run: [],
}

/** Returns the last answered model call; null when there was none. */
function findLastCall(events: LoopEvent[], { limits }: ContextWindow): LastCall | null {
  const last = events.findLast((event) => event.type === 'model_answered')
  if (!last) return null
  const { inputTokens, outputTokens } = last.charge
  return {
    promptTokens: inputTokens,
    completionTokens: outputTokens,
    contextLimit: limits.contextTokens,
  }
}

/** Compacts a conversation that is too long, with an extract as its summary: no model call is made here. */
function compactIfNeeded(conversation: Conversation, window: ContextWindow): Conversation {
  const need = checkWindow(window)
  if (need.kind !== 'compact') return conversation
  const plan = planCompaction(conversation, {
    promptTokens: window.promptTokens,
    estimatedTokens: estimateTokensOfChars(countTotalChars(toMessages(conversation))),
    contextTokens: window.limits.contextTokens,
    toShare: need.toShare,
    keepsAnswer: false,
  })
  const { length: replaced } = plan.replaced
  const summary = extractSummary(plan.replaced, conversation.summary, plan.summaryCharsMax)
  return replaceOldest(conversation, replaced, summary)
}

/** Returns the agent's last message, posted or not. */
const endOf = (messages: Message[]): string => {
  const last = messages.at(-1)
  return last?.role === 'assistant' ? last.text : ''
}

/** Returns a one-line reminder for other sessions; empty when the agent passed. */
const composeGist = (requestLine: string, reply: string | null, lastWords: string): string => {
  const said = reply ?? lastWords
  if (said === '' || /^\W*pass\b/i.test(said)) return ''
  const verb = reply === null ? 'I posted no answer, but noted' : 'I answered'
  return `${requestLine} ${verb}: ${toSingleLine(said)}`
}

/** Returns a text as one line, truncated to the length of a reminder. */
export const toSingleLine = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  const { gistCharsMax } = memoryLimits
  return line.length <= gistCharsMax ? line : `${cutText(line, gistCharsMax)} ...`
}

/** Saves a finished activation as a turn of its session, once, in the transaction that ends it. */
function saveTurn(
  memory: MemoryStore,
  { state, events, at }: { state: LoopState; events: LoopEvent[]; at: number },
): void {
  const { activationId, ending } = state
  if (!activationId || !ending) return
  const turn = composeTurn({ activationId, at, events, ending, window: state })
  if (turn) memory.saveActivation(turn)
}

/** Saves what later runs use of an activation that ends, once, in the transaction that ends it. */
export function saveEnded(...ended: Parameters<typeof saveTurn>): void {
  saveTurn(...ended)
  saveProgramSession(...ended)
}

/**
 * Returns messages as they are stored after their activation: truncated, without provider parts, which
 * are required within one conversation only. Each call has a result.
 *
 * @param unkept ids of calls whose result is not stored
 */
export const truncateMessages = (
  messages: Message[],
  unkept: ReadonlySet<string> = new Set(),
): SessionMessage[] => messages.map((message) => truncateMessage(message, unkept))

const unkeptNote = 'This result is not kept, because it may have changed. Call the tool again.'

function truncateMessage(message: Message, unkept: ReadonlySet<string>): SessionMessage {
  const { keptTextCharsMax, keptResultCharsMax } = memoryLimits
  switch (message.role) {
    case 'assistant':
      return {
        role: 'assistant',
        text: truncate(message.text, keptTextCharsMax),
        calls: message.calls.map(truncateCall),
      }
    case 'tool':
      return {
        role: 'tool',
        results: message.results.map((result) => ({
          ...result,
          text: unkept.has(result.callId) ? unkeptNote : truncate(result.text, keptResultCharsMax),
        })),
      }
    default:
      return { role: 'user', text: truncate(message.text, keptTextCharsMax) }
  }
}

/** Truncates a call's arguments. They stay valid JSON, because some providers parse them again. */
function truncateCall(call: ToolRequest): ToolRequest {
  const { keptArgumentsCharsMax } = memoryLimits
  if (call.arguments.length <= keptArgumentsCharsMax) return call
  const shortened = truncate(call.arguments, keptArgumentsCharsMax / 2)
  return { ...call, arguments: JSON.stringify({ shortened }) }
}
