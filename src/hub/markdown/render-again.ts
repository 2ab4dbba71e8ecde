import { renderedTexts } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import type { ActionContext } from '../database/action-context'
import { beginRendering, finishRendering, selectOutdated } from './queries'
import { htmlVersion, type TextTable } from './render-text'

/** A text on a page, with the version of its stored HTML. */
interface ShownText {
  id: string
  htmlVersion: number
}

/**
 * Renders texts of a page again that an earlier version rendered, after the response was sent. Until then
 * the page shows their earlier HTML, or the plain text when there is none. Only some per page, so that a
 * page with many of them does not occupy the hub.
 */
export function renderAgain(context: ActionContext, name: TextTable, shown: ShownText[]): void {
  const ids = shown
    .filter((each) => each.htmlVersion < htmlVersion)
    .slice(0, renderedTexts.renderedAgainMax)
    .map(({ id }) => id)
  if (ids.length > 0) context.defer(renderTexts(context, name, ids))
}

/** Renders one text after the other: when the process ends meanwhile, it is known which one may be the reason. */
async function renderTexts({ db }: ActionContext, name: TextTable, ids: string[]): Promise<void> {
  // The page is sent first, and its cost is that of the page alone.
  await new Promise((resolve) => setTimeout(resolve, 0))
  const { texts } = await batch(db, { texts: selectOutdated(name, ids) })
  let chars = 0
  for (const text of texts) {
    chars += text.content.length
    if (chars > renderedTexts.renderedAgainCharsMax) continue
    await batch(db, { begin: beginRendering(name, text) })
    await batch(db, { finish: finishRendering(name, text) })
  }
}
