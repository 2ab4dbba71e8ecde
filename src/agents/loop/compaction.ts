import { compaction } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import { countTotalChars, estimateTokensOfChars, type Message } from './message'
import type { LoopState } from './state'

/** The state of the context window that decides on a compaction. */
export type ContextWindow = Pick<
  LoopState,
  'promptTokens' | 'entries' | 'compactions' | 'mustCompact' | 'limits'
>

/** What to do before the next model call. `full`: compaction cannot make more space. */
type WindowStatus = { kind: 'fits' } | { kind: 'compact'; toShare: number } | { kind: 'full' }

/** Returns whether the next prompt fits, needs a compaction first, or can no longer fit. */
export function checkWindow(window: ContextWindow): WindowStatus {
  const { promptTokens, entries, mustCompact } = window
  const isFull = promptTokens > window.limits.contextTokens * compaction.aboveShare
  const isLong = entries > compaction.aboveEntries || promptTokens > compaction.aboveTokens
  if (window.compactions < compaction.attempts && (mustCompact || isFull || isLong)) {
    return { kind: 'compact', toShare: mustCompact ? compaction.forcedShare : compaction.autoShare }
  }
  return isFull || mustCompact ? { kind: 'full' } : { kind: 'fits' }
}

/** Returns whether the context window, and not the limit on the answer, truncated an answer. */
export const isWindowNearlyFull = ({
  promptTokens,
  limits,
}: Pick<ContextWindow, 'promptTokens' | 'limits'>) =>
  promptTokens >= limits.contextTokens * compaction.autoShare

/**
 * Returns a warning for people when a prompt comes close to the context window; null when it does
 * not.
 */
export function formatWindowWarning(promptTokens: number, contextTokens: number): string | null {
  if (contextTokens === 0 || promptTokens <= contextTokens * compaction.warnShare) return null
  const share = Math.round((promptTokens / contextTokens) * 100)
  return `The prompt fills ${share} % of the model's context window (${promptTokens} of ${contextTokens} tokens).`
}

/**
 * A conversation, split by what a compaction may replace. `head` and `task` always stay. Of
 * `history` and then `run`, the oldest messages are replaced by the summary, which stands between
 * `head` and `history`.
 */
export interface Conversation {
  head: Message[]
  /** The summary of messages that were replaced before; null when none were. */
  summary: string | null
  history: Message[]
  task: Message[]
  run: Message[]
}

interface CompactionGoal {
  /** Size of the prompt as counted by the provider or estimated, and by the estimate alone. */
  promptTokens: number
  estimatedTokens: number
  contextTokens: number
  toShare: number
  /** Keeps a truncated answer that is to be continued, together with the note that asks for it. */
  keepsAnswer: boolean
}

export interface CompactionPlan {
  /** The messages that the summary replaces, oldest first. */
  replaced: Message[]
  summaryCharsMax: number
}

/** Returns the size of a history as that of the window, so that a share of it is replaced however short it is. */
export function measureHistory({ history, summary }: Pick<Conversation, 'history' | 'summary'>) {
  const size = estimateTokensOfChars(countTotalChars(history) + (summary ?? '').length)
  return { promptTokens: size, estimatedTokens: size, contextTokens: size }
}

/**
 * Returns which messages a summary replaces: as few as reach the target size, never splitting a
 * call from its result.
 */
export function planCompaction(conversation: Conversation, goal: CompactionGoal): CompactionPlan {
  const summaryCharsMax = Math.min(
    compaction.summaryCharsMax,
    Math.floor(goal.contextTokens * compaction.summaryCharsPerToken),
  )
  const list = [...conversation.history, ...conversation.run]
  const cuts = findCuts(conversation, goal.keepsAnswer)
  const target = Math.min(goal.contextTokens, compaction.aboveTokens) * goal.toShare
  const scale = goal.promptTokens / Math.max(1, goal.estimatedTokens)
  const sizeAfter = (cut: number) =>
    goal.promptTokens -
    estimateTokensOfChars(countTotalChars(list.slice(0, cut)) - summaryCharsMax) * scale
  const fits = (cut: number) =>
    sizeAfter(cut) <= target && countEntries(conversation, cut) <= compaction.toEntries
  const cut =
    cuts.find(fits) ??
    chooseDeepest(cuts, (each) => sizeAfter(each) <= goal.contextTokens * compaction.aboveShare)
  return { replaced: list.slice(0, cut), summaryCharsMax }
}

/**
 * Returns the deepest cut, and keeps the newest group of messages when the prompt then still fits.
 */
function chooseDeepest(cuts: number[], isEnough: (cut: number) => boolean): number {
  const [last = 0, before = 0] = [cuts.at(-1), cuts.at(-2)]
  return isEnough(before) ? before : last
}

/**
 * Returns the message counts after which a conversation can be cut: not before a tool result, which
 * would lose its call, and not after an answer that is to be continued.
 */
function findCuts({ history, run }: Conversation, keepsAnswer: boolean): number[] {
  const list = [...history, ...run]
  const last = keepsAnswer
    ? Math.max(history.length, history.length + run.findLastIndex(isAnswer))
    : list.length
  const cuts: number[] = []
  for (let cut = 0; cut <= last; cut++) {
    if (list[cut]?.role !== 'tool') cuts.push(cut)
  }
  return cuts
}

const isAnswer = (message: Message): boolean => message.role === 'assistant'

/** Counts the entries of a conversation after `replaced` of them are replaced by a summary. */
export const countEntries = (conversation: Conversation, replaced = 0): number =>
  conversation.history.length +
  conversation.task.length +
  conversation.run.length -
  replaced +
  (replaced > 0 || conversation.summary !== null ? 1 : 0)

/** Returns the conversation with its oldest messages replaced by a summary. */
export function replaceOldest(
  conversation: Conversation,
  replaced: number,
  summary: string,
): Conversation {
  if (replaced === 0) return conversation
  const { history, run } = conversation
  return {
    ...conversation,
    summary,
    history: history.slice(replaced),
    run: run.slice(Math.max(0, replaced - history.length)),
  }
}

const lineCharsMax = 240
const itemCharsMax = 2_000

/**
 * Returns a conversation as text for the model that summarizes it. Long items are truncated at
 * their end: the longest are tool results, and their beginnings say what they are.
 */
export function formatRecord(messages: Message[], former: string | null, charsMax: number): string {
  const items = messages.flatMap((message) => describe(message, itemCharsMax))
  const before = former === null ? [] : [`Summary so far: ${former}`]
  return keepEnds([...before, ...items], charsMax).join('\n\n')
}

/** Returns a summary made without a model: the beginning of every message and result. */
export function extractSummary(
  messages: Message[],
  former: string | null,
  charsMax: number,
): string {
  const lines = messages.flatMap((message) => describe(message, lineCharsMax)).map(toLine)
  const before = former === null ? [] : [cutText(former, charsMax / 2)]
  return keepEnds([...before, ...lines], charsMax).join('\n')
}

const toLine = (text: string): string => `- ${text.replace(/\s+/g, ' ')}`

function describe(message: Message, charsMax: number): string[] {
  if (message.role === 'tool') {
    return message.results.map(({ name, text }) => `${name} returned: ${truncate(text, charsMax)}`)
  }
  if (message.role !== 'assistant') return [`Received: ${truncate(message.text, charsMax)}`]
  const texts = message.text.trim() === '' ? [] : [`I said: ${truncate(message.text, charsMax)}`]
  const calls = message.calls.map(
    (call) => `I called ${call.name} ${truncate(call.arguments, charsMax)}`,
  )
  return [...texts, ...calls]
}

/**
 * Keeps the first item and as many of the newest as fit, with a line that counts the omitted ones.
 */
function keepEnds(items: string[], charsMax: number): string[] {
  const sizeOf = (item: string) => item.length + 2
  let left = charsMax - 40
  const first = items.slice(0, 1).map((item) => truncate(item, Math.floor(charsMax / 2)))
  left -= first.reduce((sum, item) => sum + sizeOf(item), 0)
  let from = items.length
  while (from > 1 && left >= sizeOf(items[from - 1] ?? '')) {
    from--
    left -= sizeOf(items[from] ?? '')
  }
  const missing = from - first.length
  const gap = missing > 0 ? [`[${missing} more omitted]`] : []
  return [...first, ...gap, ...items.slice(from)]
}

function truncate(text: string, charsMax: number): string {
  const clean = text.trim()
  return clean.length <= charsMax ? clean : `${cutText(clean, Math.max(0, charsMax))} [...]`
}
