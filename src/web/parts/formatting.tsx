import type { FC } from 'hono/jsx'

const examples: [typed: string, shown: string][] = [
  ['**bold** *italic* ~~deleted~~', 'emphasis'],
  ['# Heading', 'a heading'],
  ['[text](https://example.com)', 'a link'],
  ['- item', 'a list; 1. item numbers it'],
  ['- [ ] to do', 'a task; - [x] is done'],
  ['> text', 'a quote'],
  ['`code`', 'code in a line'],
  ['```js', 'a block of code, up to the next ```'],
  ['| a | b |', 'a row of a table; the second row is |---|---|'],
  ['![description](/media/…)', 'an image that was added here'],
  ['[^1]', 'a footnote; [^1]: text says it'],
  ['@name', 'a mention'],
]

/** A short help for the Markdown that texts can contain. */
export const Formatting: FC = () => (
  <details class="meta">
    <summary>Formatting</summary>
    <dl class="def">
      {examples.map(([typed, shown]) => (
        <>
          <dt>
            <code>{typed}</code>
          </dt>
          <dd>{shown}</dd>
        </>
      ))}
    </dl>
  </details>
)
