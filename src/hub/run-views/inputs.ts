import * as z from 'zod'
import { runLists } from '../../shared/config'

/** A view as people send it. */
export const runViewInput = z.object({
  name: z.string().trim().min(1).max(runLists.viewNameCharsMax),
  query: z.string().max(runLists.viewQueryCharsMax),
})
