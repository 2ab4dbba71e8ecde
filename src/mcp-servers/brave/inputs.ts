import * as z from 'zod'

/** A search query, within the length limits of Brave. */
export const queryInput = z
  .string()
  .trim()
  .min(1)
  .max(400)
  .refine((text) => text.split(/\s+/).length <= 50, 'Must have at most 50 words')

/** Country and language of a search. */
export const localeInputs = {
  country: z
    .string()
    .regex(/^([A-Z]{2}|ALL)$/, 'Must be two capital letters, or ALL')
    .optional(),
  language: z
    .string()
    .regex(/^[a-z]{2,3}(-[a-z]{2,4})?$/, 'Must be a language code such as en or pt-br')
    .optional(),
}

/** Converts country and language to Brave's query parameters. */
export const toLocaleQuery = (input: {
  country?: string | undefined
  language?: string | undefined
}): Record<string, string> => ({
  ...(input.country !== undefined && { country: input.country }),
  ...(input.language !== undefined && { search_lang: input.language }),
})
