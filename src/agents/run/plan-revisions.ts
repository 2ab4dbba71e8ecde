import { planLimits } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import type { PlanStep } from '../contract/agents'
import type { RevisedPlan } from './run-event'

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
  steps: { title: string; status: PlanStep['status'] | null }[] | null
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

function readStep(given: unknown): { title: string; status: PlanStep['status'] | null }[] {
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

const truncate = (text: string, charsMax: number): string => cutText(text.trim(), charsMax)
