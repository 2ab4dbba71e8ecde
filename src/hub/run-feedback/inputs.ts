import * as z from 'zod'
import { runFeedbackLimits } from '../../shared/config'
import { knownFields } from '../../shared/known-fields'

/** Feedback as people send it. */
export const feedbackInput = knownFields({
  value: z.enum(['up', 'down']).describe('Whether the answer was good.'),
  note: z
    .string()
    .trim()
    .max(runFeedbackLimits.noteCharsMax)
    .default('')
    .describe('Why, for the people who see the run.'),
})

export type FeedbackInput = z.output<typeof feedbackInput>
