import * as z from 'zod'

export const idInput = z.int().min(1).describe('Its number, as your memory shows it')

/** One line: what is remembered is shown as a list. */
export const lineInput = (charsMax: number) =>
  z
    .string()
    .transform((text) => text.replace(/\s+/g, ' ').trim())
    .pipe(z.string().min(1).max(charsMax))
