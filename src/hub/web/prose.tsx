import { raw } from 'hono/html'
import type { FC } from 'hono/jsx'
import { type HeadingLevel, renderMarkdown } from './markdown'

export interface ProseProps {
  text: string
  known: ReadonlySet<string>
  heading: HeadingLevel
}

/** Somebody's Markdown. The only place where HTML is not made by JSX: `renderMarkdown` makes it safe. */
export const Prose: FC<ProseProps> = ({ text, known, heading }) => (
  <div class="prose">{raw(renderMarkdown(text, known, heading))}</div>
)
