import * as z from 'zod'
import { definitionLimits, replayLimits } from '../../shared/config'
import { knownFields } from '../../shared/known-fields'

/** Files of a definition that is not saved, as text by path. */
export const draftFiles = z
  .record(z.string().min(1).max(200), z.string().max(definitionLimits.fileCharsMax))
  .refine(
    (files) => Object.keys(files).length <= definitionLimits.filesMax,
    `Must have at most ${definitionLimits.filesMax} files`,
  )

/** What a replay runs: the body of `POST /activations/:id/replays`. */
export const replayInput = knownFields({
  files: draftFiles
    .optional()
    .describe('A draft of the definition, as text by path. Default: the definition of the run.'),
  repeats: z
    .int()
    .min(1)
    .max(replayLimits.repeatsMax)
    .default(1)
    .describe('How often the draft runs.'),
})

export type ReplayInput = z.output<typeof replayInput>
