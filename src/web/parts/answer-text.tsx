import type { FC } from 'hono/jsx'
import { renderMarkdown } from '../../shared/markdown/render-markdown'
import { Prose } from './prose'

/** Names in answers that nobody posted are no links. */
const noNames: ReadonlySet<string> = new Set()

/** Shows an answer that was not posted. */
export const AnswerText: FC<{ of: string }> = ({ of }) =>
  of === '' ? (
    <p class="meta">No answer.</p>
  ) : (
    <Prose of={{ html: renderMarkdown(of).html, content: of }} knownNames={noNames} />
  )
