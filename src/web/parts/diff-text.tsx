import type { FC } from 'hono/jsx'
import type { DiffLine } from '../../shared/diff-lines'
import type { ChangedLine } from '../../shared/diff-words'

type Shown = DiffLine | ChangedLine | null

/** Shows the difference of two texts, line by line or within lines; `null` stands for lines that are left out. */
export const DiffText: FC<{ lines: Shown[] }> = ({ lines }) => (
  <pre class="code" tabindex={0}>
    {lines.map((line) => (
      <Line line={line} />
    ))}
  </pre>
)

const Line: FC<{ line: Shown }> = ({ line }) => {
  if (line === null) return <span class="meta">{'…\n'}</span>
  if ('parts' in line) {
    return (
      <span>
        {'± '}
        {line.parts.map(({ sign, text }) =>
          sign === ' ' ? text : sign === '+' ? <ins>{text}</ins> : <del>{text}</del>,
        )}
        {'\n'}
      </span>
    )
  }
  if (line.sign === ' ') return <span>{`  ${line.text}\n`}</span>
  return <span class={line.sign === '+' ? 'gain' : 'loss'}>{`${line.text}\n`}</span>
}
