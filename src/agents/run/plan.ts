import { planLimits } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import type { Plan, PlanStep } from '../contract/agents'
import type { ClosedCall, RevisedPlan, RunEvent, RunEventOf, RunLog } from './run-event'

const emptyPlan: Plan = { goal: null, steps: [], progress: 0 }

/** Returns the plan of a run. */
export function foldPlan({ events }: Pick<RunLog, 'events'>): Plan {
  const fold = new PlanFold()
  for (const event of events) fold.add(event)
  return fold.plan
}

/**
 * Builds the plan of one run, event by event: the goal is the task until the agent sets one. The
 * agent's own steps come first, then its tool calls in the order they were requested. When the run
 * ends, the steps that the agent has not marked as done are not done.
 */
export class PlanFold {
  plan: Plan = emptyPlan

  /** Applies one event; returns whether the plan changed. */
  add(event: RunEvent): boolean {
    const before = this.plan
    this.plan = this.#after(event)
    return this.plan !== before
  }

  #after(event: RunEvent): Plan {
    const { plan } = this
    switch (event.type) {
      case 'loaded':
        return event.goal === null ? plan : { ...plan, goal: event.goal }
      case 'model_answered':
        return addCalls(plan, event)
      case 'program_called':
        return addCalls(plan, { calls: [{ ...event, refusal: null }] })
      case 'program_reported':
        return event.plan ? revise(plan, event.plan) : plan
      case 'tool_returned':
        return endCall(plan, event)
      case 'tool_parked':
        return updateSteps(plan, isCall(event.callId), () => ({ status: 'pending' }))
      case 'resumed': {
        const approved = event.decisions.filter(({ decision }) => decision === 'approved')
        const ids = event.isCancelled ? [] : approved.map(({ callId }) => callId)
        const running = updateSteps(plan, isOneOf(ids), () => ({ status: 'running' }))
        return failCalls(running, event.closed)
      }
      case 'time_ran_out':
      case 'cancel_requested':
      case 'interrupted':
        return failCalls(plan, event.closed)
      case 'ended':
        return settleSteps(failCalls(plan, event.closed), event)
      default:
        return plan
    }
  }
}

type Asked = Pick<RunEventOf<'model_answered'>['calls'][number], 'callId' | 'name' | 'refusal'>

function addCalls(plan: Plan, { calls }: { calls: readonly Asked[] }): Plan {
  const steps = calls.flatMap(({ callId, name, refusal }): PlanStep[] =>
    name === planToolName
      ? []
      : [
          {
            callId,
            title: name,
            status: refusal === null ? 'running' : 'failed',
            output: null,
            reason: refusal && excerpt(refusal),
          },
        ],
  )
  return steps.length === 0 ? plan : measure(plan.goal, [...plan.steps, ...steps])
}

function endCall(plan: Plan, event: RunEventOf<'tool_returned'>): Plan {
  const { callId, name, isError, text } = event
  if (event.plan) return revise(plan, event.plan)
  if (name === planToolName) return plan
  const end: Partial<PlanStep> = isError
    ? { status: 'failed', reason: excerpt(text) }
    : { status: 'completed', output: excerpt(text) }
  return updateSteps(plan, isCall(callId), () => end)
}

/** Replaces the agent's own steps. */
function revise(
  plan: Plan,
  { goal, steps }: NonNullable<RunEventOf<'tool_returned'>['plan']>,
): Plan {
  const own = steps.map((step) => ({ callId: null, ...step, output: null, reason: null }))
  const calls = plan.steps.filter(({ callId }) => callId !== null)
  return measure(goal ?? plan.goal, [...own, ...calls])
}

const isOpen = ({ status }: PlanStep): boolean => status === 'running' || status === 'pending'
const isCall = (id: string) => isOneOf([id])
const isOneOf =
  (ids: readonly string[]) =>
  ({ callId }: PlanStep): boolean =>
    callId !== null && ids.includes(callId)

function failCalls(plan: Plan, closed: readonly ClosedCall[]): Plan {
  const texts = new Map(closed.map(({ callId, text }) => [callId, text]))
  const isClosed = (step: PlanStep) => isOpen(step) && texts.has(step.callId ?? '')
  return updateSteps(plan, isClosed, ({ callId }) => ({
    status: 'failed',
    reason: excerpt(texts.get(callId ?? '') ?? ''),
  }))
}

/** Settles the agent's own steps: nobody works on those that are open any more. */
function settleSteps(plan: Plan, { outcome }: RunEventOf<'ended'>): Plan {
  if (plan.steps.length === 0) return outcome === 'completed' ? { ...plan, progress: 1 } : plan
  const isOwn = (step: PlanStep) => step.callId === null && isOpen(step)
  const reason = outcome === 'completed' ? null : `The run ended: ${outcome.replaceAll('_', ' ')}.`
  return updateSteps(plan, isOwn, () => ({ status: 'not_done', reason }))
}

function updateSteps(
  plan: Plan,
  isAffected: (step: PlanStep) => boolean,
  change: (step: PlanStep) => Partial<PlanStep>,
): Plan {
  if (!plan.steps.some(isAffected)) return plan
  const steps = plan.steps.map((step) => (isAffected(step) ? { ...step, ...change(step) } : step))
  return measure(plan.goal, steps)
}

const excerpt = (text: string): string | null => {
  const trimmed = text.trim()
  const { outputCharsMax } = planLimits
  if (trimmed.length <= outputCharsMax) return trimmed || null
  return `${cutText(trimmed, outputCharsMax)}…`
}

function measure(goal: string | null, steps: PlanStep[]): Plan {
  const { completed, total } = countCompleted(steps)
  return { goal, steps, progress: total === 0 ? 0 : completed / total }
}

/** Counts completed steps: of the agent's own steps when there are any, else of its tool calls. */
function countCompleted(steps: PlanStep[]): { completed: number; total: number } {
  const own = steps.filter(({ callId }) => callId === null)
  const counted = own.length > 0 ? own : steps
  return {
    completed: counted.filter(({ status }) => status === 'completed').length,
    total: counted.length,
  }
}

/** Returns the progress as a sentence for a partial answer; null when the plan has no steps. */
export function formatPlanProgress({ steps }: Plan): string | null {
  const { completed, total } = countCompleted(steps)
  if (total === 0) return null
  const unit = steps.some(({ callId }) => callId === null) ? 'steps of my plan' : 'tool calls'
  return `I had finished ${completed} of ${total} ${unit}.`
}

/** The name of the tool that revises a plan; a call of it is not a step of the plan. */
export const planToolName = 'memory_update_plan'

/** Applies the revisions of one run's plan, one after the other. */
export class PlanRevisions {
  #plan: RevisedPlan = { goal: null, steps: [] }

  /**
   * Returns the plan after a revision; null when the arguments are not one. What the revision does
   * not mention stays, and a step with an unchanged title keeps its status.
   */
  apply(json: string): RevisedPlan | null {
    const revision = readRevision(json)
    if (!revision) return null
    const before = new Map(this.#plan.steps.map(({ title, status }) => [title, status]))
    const steps = revision.steps?.map(({ title, status }) => ({
      title,
      status: status ?? before.get(title) ?? 'pending',
    }))
    this.#plan = { goal: revision.goal ?? this.#plan.goal, steps: steps ?? this.#plan.steps }
    return this.#plan
  }

  /** Returns the plan with other steps, as a program shows its own. */
  replace(steps: RevisedPlan['steps']): RevisedPlan {
    this.#plan = { ...this.#plan, steps }
    return this.#plan
  }
}

interface Revision {
  goal: string | null
  steps: { title: string; status: WrittenStatus | null }[] | null
}

/**
 * Parses the arguments of the plan tool. They are as the model wrote them, so invalid parts are
 * ignored; what the tool accepts as a list is one here too.
 */
function readRevision(json: string): Revision | null {
  const sent = parse(json)
  const given = typeof sent === 'string' ? parse(sent) : sent
  if (typeof given !== 'object' || given === null) return null
  const { goal, steps } = given as Record<string, unknown>
  return {
    goal:
      typeof goal === 'string' && goal.trim() !== ''
        ? truncate(goal, planLimits.goalCharsMax)
        : null,
    steps: toSteps(steps)?.slice(0, planLimits.stepsMax).flatMap(readStep) ?? null,
  }
}

/** Returns steps that are a list, the JSON text of one, or a single one; null: none are given. */
function toSteps(given: unknown): unknown[] | null {
  const steps = typeof given === 'string' ? parse(given) : given
  if (Array.isArray(steps)) return steps
  return typeof steps === 'object' && steps !== null ? [steps] : null
}

/** What an agent can say of its own steps. */
const statuses = ['pending', 'running', 'completed', 'failed'] as const
type WrittenStatus = (typeof statuses)[number]

function readStep(given: unknown): { title: string; status: WrittenStatus | null }[] {
  if (typeof given !== 'object' || given === null) return []
  const { title, status } = given as Record<string, unknown>
  if (typeof title !== 'string' || title.trim() === '') return []
  return [
    {
      title: truncate(title, planLimits.titleCharsMax),
      status: statuses.find((each) => each === String(status).toLowerCase()) ?? null,
    },
  ]
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return null
  }
}

const truncate = (text: string, charsMax: number): string => cutText(text.trim(), charsMax)
