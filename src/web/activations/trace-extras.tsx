import type { FC } from 'hono/jsx'
import type { Note, StepView, TraceView } from '../../hub/traces/trace-view'
import { formatCount, formatSpan } from '../../shared/format'
import { TableHead } from '../parts/table-head'

/** Formats an offset from the start of an activation. */
export const formatOffset = (ms: number): string => `at ${formatSpan(Math.max(0, ms))}`

/** Shows the initial prompt, folded because it is long. */
export const PromptBlock: FC<{ prompt: TraceView['prompt'] }> = ({ prompt }) =>
  prompt.length === 0 ? null : (
    <section class="block">
      <h2>Initial prompt</h2>
      <ul class="list tall">
        {prompt.map((message, index) => (
          <li>
            <details id={`prompt-${index}`}>
              <summary>
                {message.role}{' '}
                <span class="meta">{formatCount(message.chars)}&nbsp;characters</span>
              </summary>
              <pre class="up2" tabindex={0}>
                {message.excerpt}
              </pre>
            </details>
          </li>
        ))}
      </ul>
    </section>
  )

/** Lists the notes of an activation: waits, retries, refusals and omissions. */
export const NoteList: FC<{ notes: Note[]; startedAt: number }> = ({ notes, startedAt }) =>
  notes.length === 0 ? null : (
    <section class="block">
      <h2>Notes</h2>
      <ul class="list">
        {notes.map((note) => (
          <li>
            <span>{note.text}</span>
            <span class="r">{formatOffset(note.at - startedAt)}</span>
          </li>
        ))}
      </ul>
    </section>
  )

/** Shows outcomes and total time of each hook; nothing when no hook ran. */
export const HookTable: FC<{ steps: StepView[] }> = ({ steps }) => {
  const rows = sumHooks(steps)
  if (rows.length === 0) return null
  return (
    <section class="block">
      <h2>Hooks</h2>
      <table class="tbl fold">
        <TableHead columns={['Hook', 'Point', 'Outcomes', { right: 'Time' }]} />
        <tbody>
          {rows.map((row) => (
            <tr>
              <td>{row.hook}</td>
              <td class="whole" data-l="Point">
                {row.point}
              </td>
              <td class="whole" data-l="Outcomes">
                {formatOutcomes(row.outcomes)}
              </td>
              <td class="r whole" data-l="Time">
                {formatSpan(row.ms)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

interface HookRow {
  hook: string
  point: string
  ms: number
  outcomes: Map<string, number>
}

/** Returns one row per hook and point, in the order of their first run. */
function sumHooks(steps: StepView[]): HookRow[] {
  const rows = new Map<string, HookRow>()
  for (const step of steps) {
    for (const { hook, point, ms, outcome } of [
      ...step.hooks,
      ...step.tools.flatMap((tool) => tool.hooks),
    ]) {
      const key = `${hook} ${point}`
      const row = rows.get(key) ?? { hook, point, ms: 0, outcomes: new Map() }
      row.ms += ms
      row.outcomes.set(outcome, (row.outcomes.get(outcome) ?? 0) + 1)
      rows.set(key, row)
    }
  }
  return [...rows.values()]
}

const formatOutcomes = (outcomes: HookRow['outcomes']): string =>
  [...outcomes]
    .map(([outcome, count]) => `${outcome.replaceAll('_', ' ')} ${formatCount(count)} ×`)
    .join(', ')
