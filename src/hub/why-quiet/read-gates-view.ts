import { AppError } from '../../shared/errors'
import type { ActionContext } from '../action-context'
import { addPause, freeTask, toQuestion } from '../scheduler/read-board'
import type { Gate, GateContext } from './gate-view'
import { listGates } from './gates-view'
import type { QuietFacts } from './queries'

type Agent = NonNullable<QuietFacts['agent']>

/**
 * Returns the gates of an agent. Besides the reads it asks the scheduler about slots and the agents' module
 * about the model; neither reads the database.
 */
export async function readGates(
  { agents, scheduler, clock }: ActionContext,
  facts: QuietFacts & { agent: Agent },
  viewer: GateContext['viewer'],
): Promise<Gate[]> {
  const { agent, item, hub, explorer } = facts
  // The gates of pauses and other runs stand apart: the scheduler is only asked for a slot.
  const explorers = explorer ? [addPause(explorer, facts.explorationBudgets)] : []
  const [view, exploring, modelProblem] = await Promise.all([
    scheduler.explain(toQuestion({ ...hub, isPaused: false }, [], [freeTask])).catch(() => null),
    scheduler.explain(toQuestion(hub, explorers, [])).catch(() => null),
    findModelProblem(agents, agent, item?.model ?? null),
  ])
  return listGates({
    facts,
    scheduler: view && exploring && { ...view, explorations: exploring.explorations },
    modelProblem,
    viewer,
    now: clock.now(),
  })
}

/** Returns why an agent's model cannot be called. Without a key for it the offline model answers. */
async function findModelProblem(
  agents: ActionContext['agents'],
  { name, etag, model }: Agent,
  override: string | null,
): Promise<GateContext['modelProblem']> {
  try {
    await agents.checkModel({ name, etag }, override ?? model)
    return null
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const isFinal = override !== null || error.code === 'INVALID_DEFINITION'
    return { message: error.message, isFinal }
  }
}
