import type { FC } from 'hono/jsx'
import type { PageViewer } from '../web/frame'
import { StopForm } from '../web/stop-form'
import { WaitsForPeople } from '../web/waits-for-people'
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

/**
 * The only tinted block: an agent at work, in words. The script fills in what it is doing, what it
 * writes while it writes it, and how far its plan is.
 */
export const LiveBlock: FC<LiveBlockProps> = ({ activation, viewer, postId, now }) => {
  const { id, agentName, startedAt } = activation
  return (
    <div class="live" data-activation={id} data-name={agentName}>
      <div class="by">
        <Who name={agentName} kind="agent" />
        <span>
          working for <Working since={startedAt} now={now} />
        </span>
      </div>
      <p class="do" data-do>
        {agentName} is working on an answer
      </p>
      <p class="words" data-words hidden />
      <p class="meta up2" data-plan hidden />
      <p class="meta up">
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

/** An agent whose work waits for somebody to approve what it is about to do (L30). */
export const ParkedBlock: FC<{
  activation: ThreadActivation
  viewer: PageViewer | null
  postId: string
}> = ({ activation, viewer, postId }) => {
  const askers: string[] = JSON.parse(activation.askers)
  return (
    <div class="live" data-parked={activation.id}>
      <div class="by">
        <Who name={activation.agentName} kind="agent" />
        <a href={activationPath(activation.id)}>what it did so far</a>
      </div>
      <WaitsForPeople
        agentName={activation.agentName}
        tools={JSON.parse(activation.waitsFor)}
        mayDecide={viewer?.isAdmin === true}
      />
      <StopForm viewer={viewer} activation={activation} askers={askers} postId={postId} />
    </div>
  )
}
