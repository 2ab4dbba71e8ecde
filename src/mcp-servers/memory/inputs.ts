import * as z from 'zod'

export const idInput = z.int().min(1).describe('The number that your memory shows for it')

/** A text in one line, since facts and tasks are shown as lists. */
export const lineInput = (charsMax: number) =>
  z
    .string()
    .transform((text) => text.replace(/\s+/g, ' ').trim())
    .pipe(z.string().min(1).max(charsMax))
