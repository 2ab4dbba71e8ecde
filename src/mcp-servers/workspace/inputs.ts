import * as z from 'zod'
import { workspaceLimits } from '../../shared/config'
import { readPath } from './file-path'

/** A path in its canonical form. */
export const pathInput = z
  .string()
  .min(1)
  .max(workspaceLimits.pathCharsMax * 2)
  .transform((text, context) => {
    const read = readPath(text)
    if (read.ok) return read.path
    context.addIssue({ code: 'custom', message: `The path ${read.why}` })
    return z.NEVER
  })
  .describe('Path within your folder, e.g. notes/today.md')

export const encodingInput = z
  .enum(['text', 'base64'])
  .default('text')
  .describe('base64 for binary files')
