import { raw } from 'hono/html'
import type { FC } from 'hono/jsx'
import { type HeadingLevel, renderMarkdown } from './markdown'

export interface ProseProps {
  text: string
  /** Names of accounts in lower case; mentions of them become links. */
  knownNames: ReadonlySet<string>
  heading: HeadingLevel
}

/** Shows Markdown. This is the only HTML that JSX does not escape: `renderMarkdown` makes it safe. */
export const Prose: FC<ProseProps> = ({ text, knownNames: known, heading }) => (
  <div class="prose">{raw(renderMarkdown(text, known, heading))}</div>
)
