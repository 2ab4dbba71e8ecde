import type { LoopEventOf } from '../loop/event'
import type { ProgramEvent, StoredReport } from '../loop/program-event'
import type { PlanRevisions } from './plan-revisions'
import type { RevisedPlan, RunEvent, RunEventOf } from './run-event'

/** A program's events but those that end a call of a tool, which are converted with what began it. */
type Converted = Exclude<
  ProgramEvent['type'],
  | 'request_settled'
  | 'program_called'
  | 'program_call_waits'
  | 'program_call_returned'
  | 'program_reported'
>

/** Converts an event of a program's run that needs nothing of the events before it. */
export function convertProgram(event: LoopEventOf<Converted>): RunEvent {
  const { at, type } = event
  switch (type) {
    case 'program_placed':
      return { at, type, attempt: event.attempt, place: event.kind }
    case 'request_admitted':
      return { at, type, request: event.request, protocol: event.protocol }
    case 'request_refused':
      return { at, type: 'model_refused', reason: event.reason }
    case 'program_lost':
      return { at, type, attempt: event.attempt, reason: event.reason }
    case 'program_closed':
      return { at, type, requests: event.requests.length, charge: event.charge }
    default:
      return { at, type }
  }
}

/** Converts a model request to the step of the run that it is, or to a failed call. */
export function convertRequest(
  event: LoopEventOf<'request_settled'>,
  countStep: () => number,
): RunEvent {
  const { at, startedAt, finish, usage, charge, problem } = event
  if (charge === null || finish === 'error' || finish === 'cancelled') {
    const code = findFailureCode(event)
    const message = failureMessages[code]
    return {
      at,
      type: 'model_failed',
      startedAt,
      request: null,
      code,
      message,
      detail: problem,
      charge,
    }
  }
  return {
    ...{ at, type: 'model_answered', step: countStep(), startedAt, request: null, input: null },
    ...{ text: '', reasoning: '', finish, usage, calls: [], charge, warning: null, hooks: [] },
  }
}

const failureMessages = {
  CANCELLED: 'The program ended the request before its answer was complete.',
  PROVIDER_AUTH: 'The model provider refused the key.',
  PROVIDER_BUSY: 'The model provider is busy.',
  PROVIDER_ERROR: 'The model provider failed.',
} as const

function findFailureCode({
  finish,
  status,
}: LoopEventOf<'request_settled'>): keyof typeof failureMessages {
  if (finish === 'cancelled') return 'CANCELLED'
  if (status === 401 || status === 403) return 'PROVIDER_AUTH'
  return status === 429 || status === 503 || status === 529 ? 'PROVIDER_BUSY' : 'PROVIDER_ERROR'
}

/** Converts a wait for approval. */
export const convertWait = ({
  at,
  callId,
  approval,
}: LoopEventOf<'program_call_waits'>): RunEvent => ({
  ...{ at, type: 'tool_parked', startedAt: at, callId, name: approval.tool, approval, hooks: [] },
})

/** Converts reports: what the program wrote, its plan, and its own tools as notes. */
export function convertReports(
  { at, type, attempt, reports }: LoopEventOf<'program_reported'>,
  revisions: PlanRevisions,
): RunEventOf<'program_reported'> {
  const plan = reports.findLast((report) => report.kind === 'plan')
  const ended = reports.find((report) => report.kind === 'ended')
  const changes = ended?.kind === 'ended' ? ended.changes : null
  return {
    at,
    type,
    attempt,
    text: joinTexts(reports, 'text'),
    reasoning: joinTexts(reports, 'reasoning'),
    notes: reports.flatMap(describeReport),
    ...(plan?.kind === 'plan' && { plan: toPlan(plan, revisions) }),
    ...(changes && changes.stat !== '' && { changes }),
  }
}

const joinTexts = (reports: StoredReport[], kind: 'text' | 'reasoning'): string =>
  reports.map((report) => (report.kind === kind ? report.text : '')).join('')

const toPlan = (
  { steps }: Extract<StoredReport, { kind: 'plan' }>,
  revisions: PlanRevisions,
): RevisedPlan => revisions.replace(steps)

/** Returns what people should know of a report, as sentences. */
function describeReport(report: StoredReport): string[] {
  switch (report.kind) {
    case 'started': {
      const how = report.is_resumed ? ' It went on with its earlier session.' : ''
      return [`The program started, version ${report.version}.${how}`]
    }
    case 'tool':
      return report.is_builtin && report.status !== 'running'
        ? [`Its own tool: ${report.title} (${report.status}).`]
        : []
    case 'notice':
      return report.text === '' ? [] : [report.text]
    case 'ended':
      return [
        ...(report.end === 'end_turn'
          ? []
          : [`The program ended: ${report.end.replaceAll('_', ' ')}.`]),
        ...(report.detail === null ? [] : [report.detail]),
      ]
    default:
      return []
  }
}
