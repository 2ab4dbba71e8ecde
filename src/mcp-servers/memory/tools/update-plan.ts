import * as z from 'zod'
import { planLimits } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'

const step = z.strictObject({
  title: z.string().trim().min(1).max(planLimits.titleCharsMax),
  status: z.enum(['pending', 'running', 'completed', 'failed']).optional(),
})

/** Updates the plan. The plan is read from the journal, which contains the arguments of this call. */
export const updatePlan = defineTool({
  name: 'update_plan',
  description:
    'Set your plan, which people can follow live and which helps you stay on track: a goal and the ' +
    'steps to it. Call it at the start of a task that takes several steps, and again when a step is ' +
    'done or the plan changes. The steps you give replace the previous ones; a step with the same ' +
    'title keeps its status.',
  input: z
    .strictObject({
      goal: z.string().trim().min(1).max(planLimits.goalCharsMax).optional(),
      steps: z.array(step).max(planLimits.stepsMax).optional(),
    })
    .refine(
      ({ goal, steps }) => goal !== undefined || steps !== undefined,
      'Must have a goal, steps or both',
    ),
  tier: 'write',
  grant: 'memory:write',
  isIdempotent: true,
  doing: 'planning',
  run: async ({ input }) => input,
})
