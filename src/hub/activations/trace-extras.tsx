import type { FC } from 'hono/jsx'
import { sayTool } from '../web/agent-words'
import { formatCount, formatSpan } from '../web/format'
import type { Note, StepView, TraceView } from './trace-view'

/** A moment of an activation, counted from its start. */
export const formatClock = (ms: number): string => `at ${formatSpan(Math.max(0, ms))}`

/** What the model was shown first, folded: it is long. */
export const PromptBlock: FC<{ prompt: TraceView['prompt'] }> = ({ prompt }) =>
  prompt.length === 0 ? null : (
    <section class="block">
      <h2>What the model was shown first</h2>
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

/** What it waited for, retried, was refused, left out. */
export const NoteList: FC<{ notes: Note[]; startedAt: number }> = ({ notes, startedAt }) =>
  notes.length === 0 ? null : (
    <section class="block">
      <h2>Notes</h2>
      <ul class="list">
        {notes.map((note) => (
          <li>
            <span>{note.text}</span>
            <span class="r">{formatClock(note.at - startedAt)}</span>
          </li>
        ))}
      </ul>
    </section>
  )

/** How long each hook took and what came of it (L33); nothing where none ran. */
export const HookTable: FC<{ steps: StepView[] }> = ({ steps }) => {
  const rows = steps.flatMap((step) => [
    ...step.hooks.map((hook) => ({ ...hook, step: step.step, on: 'model' })),
    ...step.tools.flatMap((tool) =>
      tool.hooks.map((hook) => ({ ...hook, step: step.step, on: sayTool(tool.name) })),
    ),
  ])
  if (rows.length === 0) return null
  return (
    <section class="block">
      <h2>Hooks</h2>
      <table class="tbl fold">
        <thead>
          <tr>
            {['Hook', 'Where', 'Came to'].map((head) => (
              <th scope="col">{head}</th>
            ))}
            <th scope="col" class="r">
              Time
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              <td>{row.hook}</td>
              <td data-l="Where">
                step {row.step}, {row.on}, {row.point}
              </td>
              <td data-l="Came to">{row.outcome.replaceAll('_', ' ')}</td>
              <td class="r" data-l="Time">
                {formatSpan(row.ms)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
