import { raw } from 'hono/html'
import type { FC } from 'hono/jsx'
import { renderPlainText, unlinkUnknownNames } from '../../shared/markdown/render-markdown'

/** A stored text: its HTML, or its content while it has none. */
export interface StoredText {
  html: string | null
  content: string
  /** The content is only its beginning, because the page would be too long. */
  isExcerpt?: boolean
}

export interface ProseProps {
  of: StoredText
  /** Names of accounts in lower case; mentions of them are links. */
  knownNames: ReadonlySet<string>
}

/** Shows a text that was rendered when it was written. This is the only HTML that JSX does not escape. */
export const Prose: FC<ProseProps> = ({ of: { html, content, isExcerpt }, knownNames }) => (
  <div class="prose">
    {raw(
      html === null
        ? renderPlainText(isExcerpt ? `${content} …` : content)
        : unlinkUnknownNames(html, knownNames),
    )}
  </div>
)
