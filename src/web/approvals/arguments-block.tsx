import type { Child, FC } from 'hono/jsx'
import type { ArgumentPart } from '../../hub/approvals/format-arguments'

/** Shows the arguments of a call whole; each masked secret opens without a script. */
export const ArgumentsBlock: FC<{ parts: ArgumentPart[] }> = ({ parts }) => (
  <div class="code up2" dir="ltr">
    {parts.map((part) => showPart(part))}
  </div>
)

function showPart(part: ArgumentPart): Child {
  if (part.kind === 'text') return part.isRightToLeft ? <bdi>{part.text}</bdi> : part.text
  return (
    <details class="secret">
      <summary>{part.mask}</summary>
      <span>{part.text}</span>
    </details>
  )
}
