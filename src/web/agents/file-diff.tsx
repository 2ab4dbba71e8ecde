import type { FC } from 'hono/jsx'
import type { FileDiff } from '../../hub/definitions/diff-files'

/** Shows the changed lines of files, each with a sign and a colour. */
export const FileDiffs: FC<{ of: FileDiff[]; none: string }> = ({ of, none }) => (
  <>
    {of.length === 0 && <p class="up2">{none}</p>}
    {of.map(({ path, lines }) => (
      <figure class="up3">
        <figcaption>
          <code>{path}</code>
        </figcaption>
        <pre class="code" tabindex={0}>
          {lines.map((line) => (
            <Line line={line} />
          ))}
        </pre>
      </figure>
    ))}
  </>
)

const Line: FC<{ line: FileDiff['lines'][number] }> = ({ line }) => {
  if (line === null) return <span class="meta">{'…\n'}</span>
  if (line.sign === ' ') return <span>{`  ${line.text}\n`}</span>
  return <span class={line.sign === '+' ? 'gain' : 'loss'}>{`${line.text}\n`}</span>
}
