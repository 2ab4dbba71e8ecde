import type { RunLogProblem, RunReads } from '../contract/agents'
import { composeReplyText } from '../loop/reply'
import { parseRecord, type RunRecord } from '../run/record'
import { describeProgress } from '../run/run-log'
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
