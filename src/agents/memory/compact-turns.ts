import { compaction } from '../../shared/config'
import type { SessionMessage } from '../contract/agents'
import { type CompactionPlan, type Conversation, planCompaction } from '../loop/compaction'
import { countTotalChars, estimateTokensOfChars } from '../loop/estimate'
import { extractSummary } from '../loop/summarize'
import { truncateMessages } from './truncate-messages'

/** A turn of a session as it is stored. */
export interface Turn {
  at: number
  gist: string
  messages: SessionMessage[]
  /** The account whose runs alone see it; empty: all. */
  owner: string
  /** Of a private turn: stands for the turns before it. */
  ownSummary: string
}

/** What runs for one owner see of a session, and what of it a compaction replaces. */
export interface SessionPart {
  owner: string
  transcript: Conversation & { history: SessionMessage[] }
  plan: CompactionPlan
  /** The newest turn of the owner. */
  last: Pick<Turn, 'at' | 'gist'>
}

/** Plans the compaction of what runs for one owner see; an empty owner stands for all runs. */
export function planPart(turns: Turn[], summary: string, owner: string): SessionPart {
  const visible = turns.filter((turn) => turn.owner === '' || turn.owner === owner)
  const from = visible.findLastIndex(({ ownSummary }) => ownSummary !== '')
  const former = [summary, visible[from]?.ownSummary ?? ''].filter((each) => each !== '')
  const history = visible.slice(Math.max(0, from)).flatMap((turn) => turn.messages)
  const transcript = {
    ...{ head: [], task: [], run: [], history },
    summary: former.length === 0 ? null : former.join('\n\n'),
  }
  const size = estimateTokensOfChars(countTotalChars(history) + (transcript.summary ?? '').length)
  const plan = planCompaction(transcript, {
    promptTokens: size,
    estimatedTokens: size,
    contextTokens: size,
    toShare: compaction.forcedShare,
    keepsAnswer: false,
  })
  const last = turns.findLast((turn) => turn.owner === owner) ?? { at: 0, gist: '' }
  return { owner, transcript, plan, last }
}

/**
 * Returns the turn that stands for a compacted part.
 *
 * @param given the summary by a model; null: an extract is made
 */
export function composeCompacted(
  { owner, transcript, plan, last }: SessionPart,
  given: string | null,
): Turn {
  const text = given ?? extractSummary(plan.replaced, transcript.summary, plan.summaryCharsMax)
  return {
    ...{ at: last.at, gist: last.gist, owner, ownSummary: text },
    messages: truncateMessages(transcript.history.slice(plan.replaced.length)),
  }
}
