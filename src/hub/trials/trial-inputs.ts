import * as z from 'zod'
import { trialLimits } from '../../shared/config'
import { knownFields } from '../../shared/known-fields'
import { draftFiles } from '../replays/inputs'

/** What a trial runs: the body of `POST /sets/:id/trials`. */
export const trialInput = knownFields({
  files: draftFiles.describe('A draft of the definition, as text by path.'),
  repeats: z
    .int()
    .min(1)
    .max(trialLimits.repeatsMax)
    .default(1)
    .describe('How often each case runs with the active definition, and with the draft.'),
})

export type TrialInput = z.output<typeof trialInput>

export const verdictInput = knownFields({
  says: z
    .enum(['first', 'second', 'same', 'cannot_tell'])
    .describe('Which of the two answers is better, in the order in which they were shown to you.'),
})
