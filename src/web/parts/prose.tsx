import { raw } from 'hono/html'
import type { FC } from 'hono/jsx'
import { cutText } from '../../shared/cut-text'
import { renderPlainText, unlinkUnknownNames } from '../../shared/markdown/render-markdown'
import { stripMarkdown } from '../../shared/markdown/strip-markdown'

/** A stored text: its HTML, or its content while it has none. */
interface StoredText {
  html: string | null
  content: string
  /** The content is only its beginning, because the page would be too long. */
  isExcerpt?: boolean
}

interface ProseProps {
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

/** Returns the beginning of a text for a list, without markup characters, truncated at a word. */
export function excerpt(text: string, charsMax: number): string {
  const plain = stripMarkdown(cutText(text, charsMax * 3))
    .replace(/\s+/g, ' ')
    .trim()
  if (plain.length <= charsMax) return plain
  return `${cutText(plain, charsMax).replace(/\s\S*$/, '')} …`
}
