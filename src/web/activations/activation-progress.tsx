import type { FC } from 'hono/jsx'
import type { ActivationDetail } from '../../hub/activations/page-queries'
import type { Frame } from '../frame/frame'
import { ElapsedTime } from '../parts/elapsed-time'
import { PendingApproval } from '../parts/pending-approval'
import { StopForm } from './stop-form'

export interface ActivationProgressProps {
  frame: Frame
  activation: ActivationDetail
  requesters: readonly string[]
  /** What the agent does right now, as text for people. */
  doing: string | null
  /** Sequence number of the last event on the page. */
  seq: number
  view: 'full' | 'thread'
}

/**
 * Shows the current state of a running or parked activation. The page's script streams the model's
 * text into this block, and reloads the page after each event.
 */
export const ActivationProgress: FC<ActivationProgressProps> = (props) => {
  const { frame, activation, requesters, seq, view } = props
  const { id } = activation
  return (
    <section
      class="live"
      data-running
      data-activation={id}
      data-view={view}
      data-seq={seq}
      aria-label="Progress"
    >
      {activation.state === 'parked' ? (
        <PendingApproval
          agentName={activation.agentName}
          tools={activation.waitsFor}
          canDecide={frame.viewer?.isAdmin === true}
          isAwaitingProvider={activation.isAwaitingProvider}
        />
      ) : (
        <RunningBlock {...props} />
      )}
      <StopForm viewer={frame.viewer} activation={activation} requesters={requesters} />
    </section>
  )
}

const RunningBlock: FC<ActivationProgressProps> = ({ frame, activation, doing }) => (
  <>
    <p class="do" data-name={activation.agentName}>
      {activation.agentName} is {doing ?? 'working on an answer'}
    </p>
    <details id="reasoning" class="up2" data-reasoning hidden>
      <summary class="meta">Reasoning</summary>
      <p class="words" />
    </details>
    <div data-text hidden>
      <p class="words" />
    </div>
    <p class="meta up2">
      Running for <ElapsedTime since={activation.startedAt} now={frame.now} />. The steps so far are
      listed below.
      <noscript> Reload the page to update them.</noscript>
    </p>
  </>
)
