import * as z from 'zod'
import { approvals } from '../../shared/config'

/** A decision about a call that requires approval. */
export const decisionBody = z.object({
  decision: z
    .enum(['approve', 'approve_activation', 'deny'])
    .describe(
      'approve_activation also approves other calls of the same tool and grant in the activation, whatever their arguments; an external call can only be approved once',
    ),
  note: z.string().trim().max(approvals.noteCharsMax).default('').describe('Shown to the agent'),
})
