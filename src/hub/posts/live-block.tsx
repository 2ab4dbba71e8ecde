import type { FC } from 'hono/jsx'
import type { PageViewer } from '../web/frame'
import { StopForm } from '../web/stop-form'
import { activationPath, Who } from '../web/who'
import { Working } from '../web/working'
import type { ThreadActivation } from './page-queries'

type AtWork = Pick<ThreadActivation, 'id' | 'agentName' | 'startedAt' | 'askers'>

export interface LiveBlockProps {
  activation: AtWork
  viewer: PageViewer | null
  postId: string
  now: number
}

/** The only tinted block: an agent at work, in words. The script fills in what it is doing. */
export const LiveBlock: FC<LiveBlockProps> = ({ activation, viewer, postId, now }) => {
  const { id, agentName, startedAt } = activation
  return (
    <div class="live" data-activation={id}>
      <div class="by">
        <Who name={agentName} kind="agent" />
        <span>
          working for <Working since={startedAt} now={now} />
        </span>
      </div>
      <p class="do">{agentName} is working on an answer</p>
      <p class="meta">
        <a href={activationPath(id)}>Follow it step by step</a>
      </p>
      <StopForm
        viewer={viewer}
        activation={activation}
        askers={JSON.parse(activation.askers)}
        postId={postId}
      />
    </div>
  )
}

/**
 * What the script makes the block of an agent from that begins while the page is open. Who may stop
 * it only the hub tells: for somebody signed in the script reads the page again.
 */
export const LiveTemplate: FC<{ viewer: PageViewer | null }> = ({ viewer }) => (
  <template id="live-block" {...(viewer ? { 'data-signed-in': true } : {})}>
    <LiveBlock
      activation={{ id: '', agentName: '?', startedAt: 0, askers: '[]' }}
      viewer={null}
      postId=""
      now={0}
    />
  </template>
)
