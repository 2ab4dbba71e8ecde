import type { FC } from 'hono/jsx'
import { Icon } from '../web/icons'
import { explainBrake } from './explain-brake'
import type { UncalledAgent } from './queries'

/** An agent that another one mentioned in vain: which brake held, and what lifts it. */
export const Uncalled: FC<{ of: UncalledAgent }> = ({ of }) => (
  <div class="brake">
    <Icon name="stop" />
    <div>
      <strong>
        {of.by} did not wake {of.name}
      </strong>
      <p>{explainBrake(of.refusal)}</p>
    </div>
  </div>
)
