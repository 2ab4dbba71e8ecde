import * as z from 'zod'

/** Body of `POST /api/v1/models/test`. */
export const modelTestInput = z.object({
  model: z.string().trim().min(1).max(200).describe('Model as provider/model.'),
})
