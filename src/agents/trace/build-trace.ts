import type { ActivationId } from '../../shared/ids'
import type { Trace } from '../contract/agents'
import { toRuntimeEvents } from '../live/runtime-events'
import { sumCharges } from '../loop/charge-state'
import type { LoadedFacts, LoopEvent } from '../loop/event'
import type { Message } from '../loop/message'
import { closePlan, foldPlan } from '../loop/plan'
import type { Ending } from '../loop/state'
import { excerptChars, truncate } from '../run/excerpt'
import { formatNote, getProviderQuote } from './format-note'
import { computeTimeSpent } from './time-spent'
import { collectCompactions, collectParks } from './trace-pauses'
import { collectSteps } from './trace-steps'

/**
 * Builds the trace of an activation: what it did and why, what it cost, and where the time went.
 * Made from the journal alone, so running, finished and resumed activations look alike.
 */
export function buildTrace(
  events: LoopEvent[],
  ending: Ending | null,
  finishedAt: number | null,
): Trace {
  const woken = events.find((event) => event.type === 'woken')
  const facts = events.find((event) => event.type === 'loaded')?.facts
  const startedAt = woken?.at ?? 0
  return {
    version: 1,
    activationId: woken?.activationId ?? ('' as ActivationId),
    ...describeRun(facts),
    startedAt,
    finishedAt,
    outcome: ending?.outcome ?? null,
    error: ending?.error ?? null,
    prompt: (facts?.prompt ?? []).map(excerptMessage),
    steps: collectSteps(events),
    spent: {
      ...sumCharges(events),
      isPriced: events.every((event) => !('charge' in event) || event.charge?.isPriced !== false),
    },
    notes: [
      ...collectNotes(events, facts, startedAt),
      ...(ending?.warning ? [{ at: finishedAt ?? startedAt, text: ending.warning }] : []),
    ],
    compactions: collectCompactions(events),
    parks: collectParks(events),
    time: computeTimeSpent(events, finishedAt ?? events.at(-1)?.at ?? 0),
    plan: ending ? closePlan(foldPlan(events)) : foldPlan(events),
    events: toRuntimeEvents(events, ending),
  }
}

/** Returns agent, model, task and session; empty before LOAD. */
const describeRun = (facts: LoadedFacts | undefined) => ({
  agent: facts?.agentName ?? '',
  model: facts?.model.id ?? '',
  task: facts?.task ?? '',
  session: facts?.session?.id ?? null,
  definitionVersion: facts?.definition.version ?? 0,
})

function excerptMessage(message: Message): Trace['prompt'][number] {
  const text = 'text' in message ? message.text : ''
  return { role: message.role, excerpt: truncate(text, excerptChars.prompt), chars: text.length }
}

/** Collects notes on problems, and on the prompt. */
function collectNotes(
  events: LoopEvent[],
  facts: LoadedFacts | undefined,
  startedAt: number,
): Trace['notes'] {
  const substituted = facts?.model.substitutedFor
  const ofPrompt = [
    ...(substituted ? [`No key for ${substituted}: the built-in offline model answered.`] : []),
    ...(facts?.notes ?? []),
  ]
  const ofEvents = events.flatMap((event) => {
    const text = formatNote(event)
    const quote = getProviderQuote(event)
    return text === null ? [] : [{ at: event.at, text, ...(quote !== null && { quote }) }]
  })
  return [...ofPrompt.map((text) => ({ at: startedAt, text })), ...ofEvents]
}
