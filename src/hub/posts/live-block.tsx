import type { FC } from 'hono/jsx'
import { activationPath, Who } from '../web/who'
import { Working } from '../web/working'
import type { ThreadActivation } from './page-queries'

/** The only tinted block: an agent at work, in words. The script fills in what it is doing. */
export const LiveBlock: FC<{ activation: ThreadActivation; now: number }> = (props) => {
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
    <LiveBlock
      activation={{ id: '', agentName: '?', state: 'running', startedAt: 0, replyRefusal: null }}
      now={0}
    />
  </template>
)
