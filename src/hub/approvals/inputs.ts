import * as z from 'zod'
import { approvals } from '../../shared/config'
import { knownFields } from '../../shared/known-fields'
import { ruleInput } from '../standing-rules/inputs'

const note = z
  .string()
  .trim()
  .max(approvals.noteCharsMax)
  .default('')
  .describe('Shown to the agent')

/** A decision about a call that requires approval. */
export const decisionBody = knownFields({
  decision: z
    .enum(['approve', 'approve_activation', 'deny'])
    .describe(
      'approve_activation also approves other calls of the same tool and grant in the activation, whatever their arguments; an external call can only be approved once',
    ),
  note,
  standing_rule: ruleInput
    .optional()
    .describe('With approve: also creates a standing rule for such calls.'),
})

/** One decision about several calls: those of one step, or any others. */
export const decisionsBody = knownFields({
  ids: z.array(z.string().max(200)).min(1).max(approvals.decisionsMax),
  decision: z.enum(['approve', 'deny']),
  note,
})
