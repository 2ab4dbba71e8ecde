import type { FC } from 'hono/jsx'
import { type FileDiff, formatTooDifferent } from '../../hub/definitions/diff-files'
import type { DiffLine } from '../../shared/diff-lines'

/** Shows the changed lines of files, each with a sign and a colour. */
export const FileDiffs: FC<{ of: FileDiff[]; none: string }> = ({ of, none }) => (
  <>
    {of.length === 0 && <p class="up2">{none}</p>}
    {of.map((diff) => (
      <figure class="up3">
        <figcaption>
          <code>{diff.path}</code>
        </figcaption>
        {diff.lines === null ? (
          <p class="meta">{formatTooDifferent(diff)}</p>
        ) : (
          <pre class="code" tabindex={0}>
            {diff.lines.map((line) => (
              <Line line={line} />
            ))}
          </pre>
        )}
      </figure>
    ))}
  </>
)

const Line: FC<{ line: DiffLine | null }> = ({ line }) => {
  if (line === null) return <span class="meta">{'…\n'}</span>
  if (line.sign === ' ') return <span>{`  ${line.text}\n`}</span>
  return <span class={line.sign === '+' ? 'gain' : 'loss'}>{`${line.text}\n`}</span>
}
