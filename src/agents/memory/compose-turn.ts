import { memoryLimits } from '../../config'
import type { ActivationId } from '../../ids'
import type { LoadedFacts, LoopEvent } from '../loop/event'
import type { Message } from '../loop/message'
import type { ToolCount, Turn } from '../storage/memory-store'
import { boundMessages } from './bound-messages'

interface Finished {
  activationId: ActivationId
  at: number
  session: NonNullable<LoadedFacts['session']>
  events: LoopEvent[]
  /** What the activation added to the conversation behind the task, as far as it is still there. */
  messages: Message[]
  /** What was said in the end, as it is posted; null when nothing is. */
  reply: string | null
  /**
   * What a compaction put in place of older messages, and what it left of the history that the
   * session had before; null when there was none.
   */
  compacted: { summary: string; history: Message[] } | null
}

/** A finished activation as its session remembers it (L39). */
export function composeTurn(finished: Finished): Turn {
  const { activationId, at, session, events, reply, compacted } = finished
  const messages = boundMessages([
    ...(compacted?.history ?? []),
    { role: 'user', text: session.task },
    ...finished.messages,
  ])
  const last = messages.at(-1)
  const isAnswered = last?.role === 'assistant' && last.calls.length === 0
  if (reply !== null && !isAnswered) messages.push({ role: 'assistant', text: reply, calls: [] })
  return {
    activationId,
    sessionId: session.id,
    at,
    gist: session.gist === '' ? '' : composeGist(session.gist, reply),
    messages,
    usage: sumCharges(events),
    tools: countTools(events),
    summary: compacted?.summary ?? null,
  }
}

/** In one line, to be reminded of it elsewhere. */
function composeGist(asked: string, reply: string | null): string {
  const said = reply === null ? 'I said nothing' : `I answered: ${toLine(reply)}`
  return `${asked} ${said}`
}

export const toLine = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  const { gistCharsMax } = memoryLimits
  return line.length <= gistCharsMax ? line : `${line.slice(0, gistCharsMax).toWellFormed()} ...`
}

function sumCharges(events: LoopEvent[]): Turn['usage'] {
  const sum = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, costMicrousd: 0 }
  for (const event of events) {
    if (!('charge' in event) || !event.charge) continue
    sum.inputTokens += event.charge.inputTokens
    sum.cachedTokens += event.charge.cachedTokens
    sum.outputTokens += event.charge.outputTokens
    sum.costMicrousd += event.charge.microusd
  }
  return sum
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
