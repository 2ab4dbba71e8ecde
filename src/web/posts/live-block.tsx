import type { FC } from 'hono/jsx'
import type { ResumePromise } from '../../hub/activations/resume-view'
import type { VisibleApproval } from '../../hub/approvals/redact-approval'
import { activationPath, postPath } from '../../shared/paths'
import { StopForm } from '../activations/stop-form'
import { ApprovalStep } from '../approvals/approval-step'
import type { PageViewer } from '../frame/frame'
import { AccountLink } from '../parts/account-link'
import { ElapsedTime } from '../parts/elapsed-time'
import { PendingApproval } from '../parts/pending-approval'
import type { ThreadActivation } from './page-queries'

type RunningActivation = Pick<ThreadActivation, 'agentName' | 'startedAt' | 'requesters'> & {
  id: string
}

export interface LiveBlockProps {
  activation: RunningActivation
  viewer: PageViewer | null
  postId: string
  now: number
}

/**
 * Shows a running agent in a thread. The live script fills in its current step, the text it is
 * writing and the progress of its plan.
 */
export const LiveBlock: FC<LiveBlockProps> = ({ activation, viewer, postId, now }) => {
  const { id, agentName, startedAt } = activation
  return (
    <div class="live" data-activation={id} data-name={agentName}>
      <div class="by">
        <AccountLink name={agentName} kind="agent" />
        <span>
          working for <ElapsedTime since={startedAt} now={now} />
        </span>
      </div>
      <p class="do" data-do>
        {agentName} is working on an answer
      </p>
      <p class="words" data-words hidden />
      <p class="meta up2" data-plan hidden />
      <p class="meta up">
        <a href={activationPath(id)}>View run step by step</a>
      </p>
      <StopForm
        viewer={viewer}
        activation={activation}
        requesters={activation.requesters}
        postId={postId}
      />
    </div>
  )
}

/**
 * The template for agents that start while the page is open. Only the hub knows whether the viewer
 * may stop an agent, so for a signed-in viewer the script reloads the page's content.
 */
export const LiveTemplate: FC<{ viewer: PageViewer | null }> = ({ viewer }) => (
  <template id="live-block" {...(viewer ? { 'data-signed-in': true } : {})}>
    <LiveBlock
      activation={{ id: '', agentName: '?', startedAt: 0, requesters: [] }}
      viewer={null}
      postId=""
      now={0}
    />
  </template>
)

/** Shows an agent whose run waits until a person approves or denies its calls, and the calls themselves. */
export const ParkedBlock: FC<{
  activation: ThreadActivation
  /** Its pending calls, if the viewer can decide them. */
  calls: VisibleApproval[]
  /** Names of those who can decide, for a requester. */
  deciders: readonly string[]
  promises: ReadonlyMap<string, ResumePromise>
  viewer: PageViewer | null
  postId: string
  now: number
}> = ({ activation, calls, deciders, promises, viewer, postId, now }) => (
  <div class="live" data-parked={activation.id}>
    <div class="by">
      <AccountLink name={activation.agentName} kind="agent" />
      <a href={activationPath(activation.id)}>View run so far</a>
    </div>
    <PendingApproval
      agentName={activation.agentName}
      tools={activation.waitsFor}
      canDecide={viewer?.isAdmin === true}
      deciders={deciders}
      isAwaitingProvider={activation.isAwaitingProvider}
    />
    {viewer?.isAdmin && calls.length > 0 && (
      <ApprovalStep
        calls={calls}
        now={now}
        canDecide
        viewerName={viewer?.name ?? null}
        deciders={deciders}
        next={`${postPath(postId)}#working`}
        promises={promises}
      />
    )}
    <StopForm
      viewer={viewer}
      activation={activation}
      requesters={activation.requesters}
      postId={postId}
    />
  </div>
)
