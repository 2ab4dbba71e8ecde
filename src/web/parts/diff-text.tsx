import type { FC } from 'hono/jsx'
import type { DiffLine } from '../../shared/diff-lines'

/** Shows the difference of two texts, line by line; `null` stands for lines that are left out. */
export const DiffText: FC<{ lines: (DiffLine | null)[] }> = ({ lines }) => (
  <pre class="code" tabindex={0}>
    {lines.map((line) => (
      <Line line={line} />
    ))}
  </pre>
)

const Line: FC<{ line: DiffLine | null }> = ({ line }) => {
  if (line === null) return <span class="meta">{'…\n'}</span>
  if (line.sign === ' ') return <span>{`  ${line.text}\n`}</span>
  return <span class={line.sign === '+' ? 'gain' : 'loss'}>{`${line.text}\n`}</span>
}
