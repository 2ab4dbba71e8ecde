import type { ActivationId } from '../../shared/ids'
import type { Waterfall } from '../contract/agents'
import { truncate } from '../text/truncate'
import { excerptChars } from './excerpt'
import { formatNote, getProviderQuote } from './notes'
import { collectCompactions, collectParks } from './pauses'
import type { RunEvent, RunEventOf, RunLog } from './run-event'
import { sumSpend } from './spend'
import { StepFold } from './steps'
import { TimeFold } from './time-spent'

/**
 * Returns the waterfall of a run: what it did and why, step by step, what it cost, and where the time
 * went. Made from the log alone, so running, finished and resumed runs look alike.
 */
export function toWaterfall({ events }: Pick<RunLog, 'events'>): Waterfall {
  const woken = findEvent(events, 'woken')
  const loaded = findEvent(events, 'loaded')
  const ended = findEvent(events, 'ended')
  const startedAt = woken?.at ?? 0
  const finishedAt = ended?.finishedAt ?? null
  const steps = new StepFold()
  const time = new TimeFold()
  for (const event of events) steps.add(event, time.add(event))
  const lastAt = events.findLast(({ type }) => type !== 'ended')?.at
  return {
    activationId: woken?.activationId ?? ('' as ActivationId),
    ...describeRun(loaded),
    startedAt,
    finishedAt,
    outcome: ended?.outcome ?? null,
    error: ended?.error ?? null,
    prompt: (loaded?.prompt ?? []).map(excerptMessage),
    steps: steps.steps,
    spent: sumSpend(events),
    notes: collectNotes(events, startedAt),
    compactions: collectCompactions(events),
    parks: collectParks(events),
    changes: events.flatMap((event) =>
      event.type === 'program_reported' && event.changes
        ? [{ attempt: event.attempt, ...event.changes }]
        : [],
    ),
    time: time.finish(finishedAt ?? lastAt ?? 0),
  }
}

function findEvent<Type extends RunEvent['type']>(
  events: RunEvent[],
  type: Type,
): RunEventOf<Type> | undefined {
  return events.find((event): event is RunEventOf<Type> => event.type === type)
}

/** Returns agent, model, task and session; empty before LOAD. */
const describeRun = (loaded: RunEventOf<'loaded'> | undefined) => ({
  agent: loaded?.agent ?? '',
  model: loaded?.model.id ?? '',
  task: loaded?.task ?? '',
  requesters: loaded?.requesters ?? [],
  session: loaded?.session ?? null,
  definitionVersion: loaded?.definition.version ?? 0,
})

function excerptMessage(
  message: RunEventOf<'loaded'>['prompt'][number],
): Waterfall['prompt'][number] {
  const text = 'text' in message ? message.text : ''
  return { role: message.role, excerpt: truncate(text, excerptChars.prompt), chars: text.length }
}

/** Collects notes on the prompt, then on problems. */
const collectNotes = (events: RunEvent[], startedAt: number): Waterfall['notes'] => [
  ...events.flatMap((event) =>
    event.type === 'loaded' ? describePrompt(event).map((text) => ({ at: startedAt, text })) : [],
  ),
  ...events.flatMap((event) => {
    const text = event.type === 'ended' ? event.warning : formatNote(event)
    const at = event.type === 'ended' ? (event.finishedAt ?? startedAt) : event.at
    const quote = getProviderQuote(event)
    return text === null ? [] : [{ at, text, ...(quote !== null && { quote }) }]
  }),
]

const describePrompt = ({ model, notes }: RunEventOf<'loaded'>): string[] => [
  ...(model.substitutedFor
    ? [`No key for ${model.substitutedFor}: the built-in offline model answered.`]
    : []),
  ...notes,
]
