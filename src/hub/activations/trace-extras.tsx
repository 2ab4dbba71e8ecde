import type { FC } from 'hono/jsx'
import { formatCount, formatSpan } from '../web/format'
import type { TraceView } from './trace-view'

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
