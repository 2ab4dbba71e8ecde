import * as z from 'zod'
import { planLimits } from '../../../config'
import { defineTool } from '../../define-tool'

const step = z.strictObject({
  title: z.string().trim().min(1).max(planLimits.titleCharsMax),
  status: z.enum(['pending', 'running', 'completed', 'failed']).optional(),
})

/** The plan itself is read from the journal, where this call stands with its arguments. */
export const updatePlan = defineTool({
  name: 'update_plan',
  description:
    'Say what you are about to do, for people who watch and to keep yourself on course: a goal and ' +
    'the steps to it. Call it at the start of a task that takes several steps, and again when one is ' +
    'done or the plan changes. The steps you give replace those before; one whose title stays the ' +
    'same keeps its status.',
  input: z
    .strictObject({
      goal: z.string().trim().min(1).max(planLimits.goalCharsMax).optional(),
      steps: z.array(step).max(planLimits.stepsMax).optional(),
    })
    .refine(
      ({ goal, steps }) => goal !== undefined || steps !== undefined,
      'a goal, steps or both',
    ),
  tier: 'write',
  grant: 'memory:write',
  isIdempotent: true,
  doing: 'planning',
  run: async ({ input }) => input,
})
