import { compaction } from '../../config'
import { countAllChars, toTokens } from './estimate'
import type { Message } from './message'
import type { LoopState } from './state'

/** How full the model's window is. */
export type Window = Pick<
  LoopState,
  'promptTokens' | 'entries' | 'compactions' | 'mustCompact' | 'limits'
>

/** What the window says to the next call (L19). `full`: nothing more can be done. */
export type WindowNeed = { kind: 'fits' } | { kind: 'compact'; toShare: number } | { kind: 'full' }

export function judgeWindow(window: Window): WindowNeed {
  const { promptTokens, entries, mustCompact } = window
  const isFull = promptTokens > window.limits.contextTokens * compaction.aboveShare
  const isLong = entries > compaction.aboveEntries || promptTokens > compaction.aboveTokens
  if (window.compactions < compaction.attempts && (mustCompact || isFull || isLong)) {
    return { kind: 'compact', toShare: mustCompact ? compaction.forcedShare : compaction.autoShare }
  }
  return isFull || mustCompact ? { kind: 'full' } : { kind: 'fits' }
}

/** The window and not the cap on answers is what cuts an answer short (L21). */
export const isNearlyFull = ({ promptTokens, limits }: Pick<Window, 'promptTokens' | 'limits'>) =>
  promptTokens >= limits.contextTokens * compaction.autoShare

/** What people are told when a prompt comes near the window; null while there is room (L19). */
export function warnOfWindow(promptTokens: number, contextTokens: number): string | null {
  if (contextTokens === 0 || promptTokens <= contextTokens * compaction.warnShare) return null
  const share = Math.round((promptTokens / contextTokens) * 100)
  return `The prompt fills ${share} % of the model's window (${promptTokens} of ${contextTokens} tokens).`
}

/**
 * A conversation by what a compaction may do to it: everything of `head` and `task` stays; of history
 * and run, in this order, the oldest give way to the summary, which stands between head and history.
 */
export interface Conversation {
  head: Message[]
  /** Of what was replaced before; null when nothing was. */
  summary: string | null
  history: Message[]
  task: Message[]
  run: Message[]
}

export interface CompactionGoal {
  /** Size of the prompt as the provider or the estimate has it, and by the estimate alone. */
  promptTokens: number
  estimatedTokens: number
  contextTokens: number
  toShare: number
  /** An answer that was cut is to be continued: it stays, with the note that says so. */
  keepsAnswer: boolean
}

export interface CompactionPlan {
  /** What the summary will stand for, oldest first. */
  replaced: Message[]
  summaryCharsMax: number
}

/** Which messages give way: as few as bring the prompt to its target, in whole groups (L20). */
export function planCompaction(talk: Conversation, goal: CompactionGoal): CompactionPlan {
  const summaryCharsMax = Math.min(
    compaction.summaryCharsMax,
    Math.floor(goal.contextTokens * compaction.summaryCharsPerToken),
  )
  const list = [...talk.history, ...talk.run]
  const cuts = findCuts(talk, goal.keepsAnswer)
  const target = Math.min(goal.contextTokens, compaction.aboveTokens) * goal.toShare
  const scale = goal.promptTokens / Math.max(1, goal.estimatedTokens)
  const size = (cut: number) =>
    goal.promptTokens - toTokens(countAllChars(list.slice(0, cut)) - summaryCharsMax) * scale
  const fits = (cut: number) =>
    size(cut) <= target && countEntries(talk, cut) <= compaction.toEntries
  const cut =
    cuts.find(fits) ??
    chooseDeepest(cuts, (each) => size(each) <= goal.contextTokens * compaction.aboveShare)
  return { replaced: list.slice(0, cut), summaryCharsMax }
}

/** The newest group goes too only where nothing else makes room. */
function chooseDeepest(cuts: number[], isEnough: (cut: number) => boolean): number {
  const [last = 0, before = 0] = [cuts.at(-1), cuts.at(-2)]
  return isEnough(before) ? before : last
}

/**
 * After how many messages may be cut: before no tool result, whose call would be gone; and before an
 * answer that is to be continued.
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

/** History entries of a conversation, once `replaced` of them have given way to a summary. */
export const countEntries = (talk: Conversation, replaced = 0): number =>
  talk.history.length +
  talk.task.length +
  talk.run.length -
  replaced +
  (replaced > 0 || talk.summary !== null ? 1 : 0)

/** The conversation after a compaction. */
export function replaceOldest(talk: Conversation, replaced: number, summary: string): Conversation {
  if (replaced === 0) return talk
  const { history, run } = talk
  return {
    ...talk,
    summary,
    history: history.slice(replaced),
    run: run.slice(Math.max(0, replaced - history.length)),
  }
}
