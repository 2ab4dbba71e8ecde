import type { FC } from 'hono/jsx'
import { Icon } from '../web/icons'
import { explainBrake } from './explain-brake'
import type { UncalledAgent } from './queries'

/** Notice that a mention did not wake an agent: which reply limit was reached, and what to do. */
export const Uncalled: FC<{ of: UncalledAgent }> = ({ of: agent }) => (
  <div class="brake">
    <Icon name="stop" />
    <div>
      <strong>
        The mention by {agent.by} did not wake {agent.name}
      </strong>
      <p>{explainBrake(agent.refusal)}</p>
    </div>
  </div>
)
