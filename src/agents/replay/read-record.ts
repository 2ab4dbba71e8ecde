import { replayLimits } from '../../shared/config'
import type { RunLogProblem, RunReads } from '../contract/agents'
import type { LoopEvent } from '../loop/event'
import { composeReplyText } from '../loop/reply'
import { parseRecord, type RunRecord } from '../run/record'
import { describeProgress } from '../run/run-log'
import { parseBlocks } from '../text/fence'
import { truncate } from '../text/truncate'
import { RecordedRun } from './recorded-run'

type ReadRecord = { ok: true; run: RecordedRun } | { ok: false; problem: string }

/** Reads a stored record for a replay, or returns why it cannot be replayed, as a sentence. */
export function readRecord(stored: string): ReadRecord {
  const parsed = parseRecord(stored)
  if (!parsed.ok) return { ok: false, problem: unreadable[parsed.problem] }
  const { record } = parsed
  const loaded = record.events.find((event) => event.type === 'loaded')
  const problem = findProblem(record)
  if (problem !== null) return { ok: false, problem }
  return loaded
    ? { ok: true, run: new RecordedRun(record.events, loaded) }
    : { ok: false, problem: problems.notLoaded }
}

/** Returns why a stored run cannot be replayed, as a sentence; null when it can. */
export function findReplayProblem(stored: string): string | null {
  const read = readRecord(stored)
  return read.ok ? null : read.problem
}

/** Returns the text that a run would post, without mentions; empty when it would post none, or cannot be read. */
export function readAnswer(stored: string): string {
  const parsed = parseRecord(stored)
  if (!parsed.ok || parsed.record.ending === null) return ''
  const { events, ending } = parsed.record
  return composeReplyText(ending, events, describeProgress(ending, events)) ?? ''
}

/**
 * Returns what a run was asked, with what its requesters added while it ran; of a run that nobody asked for, its occasion.
 * Bounded; empty when the record cannot be read.
 */
export function readQuestion(stored: string): string {
  const parsed = parseRecord(stored)
  if (!parsed.ok) return ''
  const { events } = parsed.record
  const texts = [...listAsked(events), ...listAdded(events)].map((text) => text.trim())
  return truncate(texts.filter((text) => text !== '').join('\n\n'), replayLimits.questionCharsMax)
}

/** Returns the requests of the task, which comes last in the prompt. */
function listAsked(events: LoopEvent[]): string[] {
  const task = events.find((event) => event.type === 'loaded')?.facts.prompt.at(-1)
  if (task?.role !== 'user') return []
  const asked = parseBlocks(task.text).flatMap(({ asks, body }) => (asks ? [body] : []))
  return asked.length > 0 ? asked : task.text.split('\n\n', 1)
}

const listAdded = (events: LoopEvent[]): string[] =>
  events.flatMap((event) =>
    event.type === 'steered'
      ? event.items.flatMap(({ isModeration, text }) => (isModeration ? [] : [text]))
      : [],
  )

/** Returns which texts of the hub the answers of a run's tools were made of. */
export function listReads(stored: string): RunReads {
  const parsed = parseRecord(stored)
  const reads = parsed.ok
    ? parsed.record.events.flatMap((event) => ('reads' in event && event.reads) || [])
    : []
  const idsOf = (kind: 'post' | 'comment') => [
    ...new Set(reads.flatMap((each) => each[kind] ?? [])),
  ]
  return { posts: idsOf('post'), comments: idsOf('comment') }
}

const damaged = 'The record of this run is damaged.'
const unreadable: Record<RunLogProblem, string> = {
  not_json: damaged,
  invalid: damaged,
  other_version: 'This run was recorded by another version of the hub.',
}

const problems = {
  notEnded: 'This run has not ended.',
  notLoaded: 'This run ended before it had a task.',
  truncated: 'The record of this run was too long to be stored whole.',
  bare: 'The record of this run was stored without its texts.',
  program: 'The model of this run was called by a coding agent, which no replay can run.',
} as const

function findProblem({ events, ending, isTruncated, omitted }: RunRecord): string | null {
  const facts = events.find((event) => event.type === 'loaded')?.facts
  if (ending === null) return problems.notEnded
  if (isTruncated || omitted) return problems.truncated
  if (ending.isBare) return problems.bare
  return facts?.program ? problems.program : null
}
