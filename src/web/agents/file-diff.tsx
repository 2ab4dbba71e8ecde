import type { FC } from 'hono/jsx'
import type { FileDiff } from '../../hub/definitions/diff-files'

/** Shows the changed lines of files, each with a sign and a colour. */
export const FileDiffs: FC<{ of: FileDiff[]; none: string }> = ({ of, none }) =>
  of.length === 0 ? (
    <p class="up2">{none}</p>
  ) : (
    <>
      {of.map(({ path, lines }) => (
        <figure class="up3">
          <figcaption>
            <code>{path}</code>
          </figcaption>
          <pre class="code" tabindex={0} aria-label={`Changes of ${path}`}>
            {lines.map((line) => (
              <>
                {line === null ? (
                  <span class="meta">…</span>
                ) : line.sign === ' ' ? (
                  `  ${line.text}`
                ) : (
                  <span class={line.sign === '+' ? 'gain' : 'loss'}>{line.text}</span>
                )}
                {'\n'}
              </>
            ))}
          </pre>
        </figure>
      ))}
    </>
  )
