import * as z from 'zod'
import { knownFields } from '../../shared/known-fields'

/** At most 10,000 dollars per million tokens. */
const amountMax = 10_000_000_000

const amount = z.int().min(0).max(amountMax).describe('Micro-dollars per million tokens.')

const modelName = z
  .string()
  .trim()
  .min(1)
  .max(160)
  .regex(/^[\x21-\x7e]+$/, 'Must be the name of a model')
  .describe('The model, with or without its provider.')

/** The model whose price an admin resets. */
export const modelNameInput = knownFields({ model: modelName })

/** The price of a model as an admin submits it. */
export const modelPriceInput = modelNameInput.extend({
  input: amount,
  cached: amount,
  output: amount,
})
