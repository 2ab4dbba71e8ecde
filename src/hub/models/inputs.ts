import * as z from 'zod'
import { knownFields } from '../../shared/known-fields'

/** Body of `POST /api/v1/models/test`. */
export const modelTestInput = knownFields({
  model: z.string().trim().min(1).max(200).describe('Model as provider/model.'),
})
