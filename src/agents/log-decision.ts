import { activationLimits } from '../shared/config'
import type { Outcome } from '../shared/errors'
import type { Log, LogFields } from '../shared/log'
import type { LoopEvent } from './loop/event'
import type { LoopState } from './loop/state'
import { foldPlan } from './run/plan'
import { toRunLog } from './run/run-log'

/** A decision of the loop: the event, and the state before and after. */
interface LoopDecision {
  before: LoopState
  event: LoopEvent
  after: LoopState
  /** The events of the activation so far. */
  events: LoopEvent[]
}

/**
 * Logs a decision for operators: a line at the start and at the end, warnings for limits and
 * failures, and every event at level debug. Never logs text of people or models.
 */
export function logDecision(log: Log, decision: LoopDecision): void {
  const { before, event, after } = decision
  if (event.type === 'loaded') {
    const { model, definition } = event.facts
    log.info('activation started', {
      ...toContextFields(decision),
      model: model.id,
      definition_version: definition.version,
    })
  } else if (event.type === 'committed') {
    log.info('activation finished', { ...toContextFields(decision), ...toEndFields(decision) })
  }
  const failure = describeFailure(event)
  if (failure) log.warn(failure.message, { ...toContextFields(decision), ...failure.fields })
  if (after.ending && !before.ending) logLimit(log, decision, after.ending.outcome)
  if (log.isEnabled('debug')) {
    log.debug(event.type, { ...toContextFields(decision), phase: after.phase })
    if (log.isEnabled('trace'))
      log.trace('state', { ...toContextFields(decision), ...toStateFields(after) })
  }
}

const limits: Partial<Record<Outcome, true>> = {
  max_iterations: true,
  max_tokens: true,
  max_duration: true,
  context_limit: true,
  budget_exhausted: true,
}

function logLimit(log: Log, decision: LoopDecision, outcome: Outcome): void {
  if (!limits[outcome]) return
  const { iteration, tokens } = decision.after
  const isCeiling = outcome === 'max_iterations' && iteration >= activationLimits.iterationsCeiling
  log.warn(isCeiling ? 'possible infinite loop' : 'limit reached', {
    ...toContextFields(decision),
    outcome,
    iterations: iteration,
    tokens,
  })
}

function toContextFields({ before, after, events }: LoopDecision): LogFields {
  const loaded = events.find((event) => event.type === 'loaded')
  const step = before.iteration || after.iteration
  return {
    agent: loaded?.facts.agentName,
    activation: before.activationId ?? after.activationId ?? undefined,
    session: loaded?.facts.session?.id ?? loaded?.facts.answer?.postId ?? undefined,
    step: Math.max(step, after.iteration),
  }
}

/** Returns the fields of the last log line, from the state before: the commit resets the state. */
function toEndFields({ before, event, events }: LoopDecision): LogFields {
  return {
    outcome: before.ending?.outcome,
    error: before.ending?.error?.code,
    iterations: before.iteration,
    model_calls: before.modelCalls,
    tool_calls: before.toolCalls,
    plan_progress: foldPlan(toRunLog(events, before.ending)).progress,
    tokens: before.tokens,
    cost_microusd: before.microusd,
    duration_ms: before.startedAt === 0 ? 0 : event.at - before.startedAt,
    ...(event.type === 'committed' && event.kind === 'lost' ? { is_lost: true } : {}),
  }
}

function describeFailure(event: LoopEvent): { message: string; fields: LogFields } | null {
  switch (event.type) {
    case 'model_failed':
      return {
        message: 'model call failed',
        fields: {
          code: event.failure.code,
          reason: event.failure.message,
          is_retryable: event.failure.isRetryable,
        },
      }
    case 'model_answered':
      if (event.charge.doubt) return { message: 'implausible usage reported', fields: {} }
      return event.warning ? { message: 'context window nearly full', fields: {} } : null
    case 'load_failed':
      return { message: 'load failed', fields: { code: event.code, reason: event.message } }
    case 'commit_failed':
      return { message: 'commit failed, retrying', fields: { reason: event.message } }
    case 'park_failed':
      return { message: 'park failed, retrying', fields: { reason: event.message } }
    case 'interrupted':
      return {
        message: event.isSetAside
          ? 'set aside after it took the process down'
          : 'resumed after a crash',
        fields: {},
      }
    default:
      return null
  }
}

const toStateFields = ({
  phase,
  pending,
  iteration,
  errors,
  retries,
  tokens,
}: LoopState): LogFields => ({
  phase,
  pending: pending.map(({ id, type }) => `${id}:${type}`),
  iteration,
  errors,
  retries,
  tokens,
})
