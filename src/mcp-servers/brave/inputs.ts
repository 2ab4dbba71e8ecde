import * as z from 'zod'

/** Brave takes no more of a question. */
export const queryInput = z
  .string()
  .trim()
  .min(1)
  .max(400)
  .refine((text) => text.split(/\s+/).length <= 50, 'has at most 50 words')

/** Where and in which language is searched. */
export const places = {
  country: z
    .string()
    .regex(/^([A-Z]{2}|ALL)$/, 'is two capital letters, or ALL')
    .optional(),
  language: z
    .string()
    .regex(/^[a-z]{2,3}(-[a-z]{2,4})?$/, 'is like en or pt-br')
    .optional(),
}

export const toPlaces = (input: {
  country?: string | undefined
  language?: string | undefined
}): Record<string, string> => ({
  ...(input.country !== undefined && { country: input.country }),
  ...(input.language !== undefined && { search_lang: input.language }),
})
