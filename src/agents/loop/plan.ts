import { planLimits } from '../../shared/config'
import { CallRegister } from './admit-calls'
import type { LoopEvent, LoopEventOf } from './event'
import type { ToolRequest } from './message'

export type PlanStatus = 'pending' | 'running' | 'completed' | 'failed'

export interface PlanStep {
  /** The id of the tool call that is this step; null for a step the agent wrote itself. */
  callId: string | null
  /** What the agent wrote, or the name of the tool. */
  title: string
  status: PlanStatus
}

/** The plan of an activation and its progress. */
export interface Plan {
  /** Null until the agent sets a goal. */
  goal: string | null
  /** The agent's own steps, then its tool calls in their order. */
  steps: PlanStep[]
  /** 0 to 1: of the agent's own steps when it wrote any, else of its tool calls. */
  progress: number
}

const emptyPlan: Plan = { goal: null, steps: [], progress: 0 }

/** The name of the tool that revises a plan; a call of it is not a step of the plan. */
export const planToolName = 'memory_update_plan'

/** Returns the plan after all events of one activation. */
export const foldPlan = (events: LoopEvent[]): Plan => new PlanFold().addAll(events).plan

/** Returns the plan of an ended activation: steps that were still open are failed. */
export const closePlan = (plan: Plan): Plan => failCalls(plan, () => true)

/** Builds the plan of one activation, event by event. */
export class PlanFold {
  plan: Plan = emptyPlan
  readonly #register = new CallRegister()
  readonly #revisions = new Map<string, string>()

  addAll(events: LoopEvent[]): this {
    for (const event of events) this.add(event)
    return this
  }

  /** Applies one event; returns whether the plan changed. */
  add(event: LoopEvent): boolean {
    const before = this.plan
    this.plan = this.#after(event)
    return this.plan !== before
  }

  #after(event: LoopEvent): Plan {
    switch (event.type) {
      case 'model_answered':
        return this.#addCalls(event)
      case 'tool_returned':
        return this.#endCall(event)
      case 'tool_parked':
        return setStatus(this.plan, event.callId, 'pending')
      case 'resumed':
        return this.#afterDecisions(event)
      case 'interrupted':
        return failCalls(this.plan, (callId) => event.unknownCallIds.includes(callId))
      case 'cancel_requested':
      case 'time_ran_out':
        return failCalls(this.plan, () => true)
      default:
        return this.plan
    }
  }

  #addCalls({ answer }: LoopEventOf<'model_answered'>): Plan {
    const calls = this.#register.admit(answer)
    const steps: PlanStep[] = []
    for (const { callId, name, refusal, ...call } of calls) {
      if (name === planToolName) this.#revisions.set(callId, call.arguments)
      else steps.push({ callId, title: name, status: refusal === null ? 'running' : 'failed' })
    }
    return steps.length === 0 ? this.plan : measure(this.plan.goal, [...this.plan.steps, ...steps])
  }

  #endCall({ callId, isError }: LoopEventOf<'tool_returned'>): Plan {
    const revision = this.#revisions.get(callId)
    if (revision !== undefined) return isError ? this.plan : revise(this.plan, revision)
    return setStatus(this.plan, callId, isError ? 'failed' : 'completed')
  }

  #afterDecisions({ decisions, isCancelled }: LoopEventOf<'resumed'>): Plan {
    if (isCancelled) return failCalls(this.plan, () => true)
    return decisions.reduce(
      (plan, { callId, decision }) =>
        setStatus(plan, callId, decision === 'approved' ? 'running' : 'failed'),
      this.plan,
    )
  }
}

function setStatus(plan: Plan, callId: string, status: PlanStatus): Plan {
  if (!plan.steps.some((step) => step.callId === callId)) return plan
  return measure(
    plan.goal,
    plan.steps.map((step) => (step.callId === callId ? { ...step, status } : step)),
  )
}

const isOpen = ({ status }: PlanStep): boolean => status === 'running' || status === 'pending'

function failCalls(plan: Plan, isAffected: (callId: string) => boolean): Plan {
  const failed = plan.steps.filter(
    (step) => step.callId !== null && isOpen(step) && isAffected(step.callId),
  )
  if (failed.length === 0) return plan
  return measure(
    plan.goal,
    plan.steps.map((step) => (failed.includes(step) ? { ...step, status: 'failed' } : step)),
  )
}

/**
 * Replaces the agent's own steps with those of a revision; a step with an unchanged title keeps its
 * status.
 */
function revise(plan: Plan, json: ToolRequest['arguments']): Plan {
  const revision = readRevision(json)
  if (!revision) return plan
  const calls = plan.steps.filter(({ callId }) => callId !== null)
  const formerStatuses = new Map(
    plan.steps.filter(({ callId }) => callId === null).map((step) => [step.title, step.status]),
  )
  const own = revision.steps?.map(({ title, status }) => ({
    callId: null,
    title,
    status: status ?? formerStatuses.get(title) ?? 'pending',
  }))
  const kept = own ?? plan.steps.filter(({ callId }) => callId === null)
  return measure(revision.goal ?? plan.goal, [...kept, ...calls])
}

interface Revision {
  goal: string | null
  steps: { title: string; status: PlanStatus | null }[] | null
}

/**
 * Parses the arguments of the plan tool. They are as the model wrote them, so invalid parts are
 * ignored.
 */
function readRevision(json: string): Revision | null {
  const given = parse(json)
  if (typeof given !== 'object' || given === null) return null
  const { goal, steps } = given as Record<string, unknown>
  return {
    goal:
      typeof goal === 'string' && goal.trim() !== ''
        ? truncate(goal, planLimits.goalCharsMax)
        : null,
    steps: Array.isArray(steps) ? steps.slice(0, planLimits.stepsMax).flatMap(readStep) : null,
  }
}

const statuses = ['pending', 'running', 'completed', 'failed'] as const

function readStep(given: unknown): { title: string; status: PlanStatus | null }[] {
  if (typeof given !== 'object' || given === null) return []
  const { title, status } = given as Record<string, unknown>
  if (typeof title !== 'string' || title.trim() === '') return []
  return [
    {
      title: truncate(title, planLimits.titleCharsMax),
      status: statuses.find((each) => each === status) ?? null,
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

const truncate = (text: string, charsMax: number): string =>
  text.trim().slice(0, charsMax).toWellFormed()

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
