import type { FC } from 'hono/jsx'
import { activationPath, Who } from '../web/who'
import { Working } from '../web/working'
import type { ThreadActivation } from './page-queries'

type AtWork = Pick<ThreadActivation, 'id' | 'agentName' | 'startedAt'>

/** The only tinted block: an agent at work, in words. The script fills in what it is doing. */
export const LiveBlock: FC<{ activation: AtWork; now: number }> = (props) => {
  const { id, agentName, startedAt } = props.activation
  return (
    <div class="live" data-activation={id}>
      <div class="by">
        <Who name={agentName} kind="agent" />
        <span>
          working for <Working since={startedAt} now={props.now} />
        </span>
      </div>
      <p class="do">{agentName} is working on an answer</p>
      <p class="meta">
        <a href={activationPath(id)}>Follow it step by step</a>
      </p>
    </div>
  )
}

/** What the script makes the block of an agent from that begins while the page is open. */
export const LiveTemplate: FC = () => (
  <template id="live-block">
    <LiveBlock activation={{ id: '', agentName: '?', startedAt: 0 }} now={0} />
  </template>
)
