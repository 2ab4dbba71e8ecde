import * as z from 'zod'
import { runLists } from '../../shared/config'
import { shownText } from '../../shared/texts'

/** A view as people send it. */
export const runViewInput = z.object({
  name: shownText.max(runLists.viewNameCharsMax),
  query: z.string().max(runLists.viewQueryCharsMax),
})
