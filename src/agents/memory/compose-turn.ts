import { memoryLimits } from '../../config'
import type { ActivationId } from '../../ids'
import type { ToolCount } from '../contract'
import { sumCharges } from '../loop/charge-state'
import {
  type Conversation,
  judgeWindow,
  planCompaction,
  replaceOldest,
  type Window,
} from '../loop/compaction'
import { extractSummary } from '../loop/condense'
import { countAllChars, toTokens } from '../loop/estimate'
import type { LoopEvent } from '../loop/event'
import type { Message } from '../loop/message'
import { composeReply } from '../loop/reply'
import type { Ending } from '../loop/state'
import { foldConversation, showConversation } from '../loop/transcript'
import type { Turn } from '../storage/memory-store'
import { boundMessages } from './bound-messages'

export interface Finished {
  activationId: ActivationId
  at: number
  events: LoopEvent[]
  ending: Ending
  /** As its last model call left it. */
  window: Window
}

/**
 * A finished activation as its session remembers it (L39); null when the agent has no memory. What a
 * compaction left of the older history is kept with it: the summary stands for everything before.
 */
export function composeTurn(finished: Finished): Turn | null {
  const { activationId, at, events, ending } = finished
  const facts = events.find((event) => event.type === 'loaded')?.facts
  const session = facts?.session
  if (!session) return null
  const { summary, history, run } = condense(foldConversation(events), finished.window)
  const messages = boundMessages([
    ...(summary === null ? [] : history),
    { role: 'user', text: session.task },
    ...run,
  ])
  const reply = composeReply(ending, events, facts.answer?.askers ?? [])
  const last = messages.at(-1)
  const isAnswered = last?.role === 'assistant' && last.calls.length === 0
  if (reply !== null && !isAnswered) messages.push({ role: 'assistant', text: reply, calls: [] })
  return {
    activationId,
    sessionId: session.id,
    at,
    gist: session.gist === '' ? '' : composeGist(session.gist, reply ?? endOf(messages)),
    messages,
    usage: sumCharges(events),
    tools: countTools(events),
    summary,
  }
}

/** What has become too long is kept with an extract of its oldest part: nobody waits for a model now. */
function condense(talk: Conversation, window: Window): Conversation {
  const need = judgeWindow(window)
  if (need.kind !== 'compact') return talk
  const plan = planCompaction(talk, {
    promptTokens: window.promptTokens,
    estimatedTokens: toTokens(countAllChars(showConversation(talk))),
    contextTokens: window.limits.contextTokens,
    toShare: need.toShare,
    keepsAnswer: false,
  })
  const { length: replaced } = plan.replaced
  const summary = extractSummary(plan.replaced, talk.summary, plan.summaryCharsMax)
  return replaceOldest(talk, replaced, summary)
}

/** What it said in the end, posted or not. */
const endOf = (messages: Message[]): string => {
  const last = messages.at(-1)
  return last?.role === 'assistant' ? last.text : ''
}

/** In one line, to be reminded of it elsewhere; nothing when it had nothing to say (L7). */
const composeGist = (asked: string, said: string): string =>
  said === '' || /^\W*pass\b/i.test(said) ? '' : `${asked} I answered: ${toLine(said)}`

export const toLine = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  const { gistCharsMax } = memoryLimits
  return line.length <= gistCharsMax ? line : `${line.slice(0, gistCharsMax).toWellFormed()} ...`
}

function countTools(events: LoopEvent[]): ToolCount[] {
  const counts = new Map<string, ToolCount>()
  for (const event of events) {
    if (event.type !== 'tool_returned' || event.name === '') continue
    const { name } = event
    const count = counts.get(name) ?? { name, calls: 0, errors: 0, totalMs: 0 }
    count.calls++
    count.errors += Number(event.isError)
    count.totalMs += event.durationMs
    counts.set(name, count)
  }
  return [...counts.values()]
}
