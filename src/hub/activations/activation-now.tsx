import type { FC } from 'hono/jsx'
import type { Frame } from '../web/frame'
import { StopForm } from '../web/stop-form'
import { WaitsForPeople } from '../web/waits-for-people'
import { Working } from '../web/working'
import type { ActivationDetail } from './page-queries'

export interface ActivationNowProps {
  frame: Frame
  activation: ActivationDetail
  askers: readonly string[]
  /** What it does now, in words. */
  doing: string | null
  /** The last event that the page shows. */
  seq: number
  view: 'full' | 'thread'
}

/**
 * What goes on now. The script fills in words while they are written, and reads the page again when
 * something has happened.
 */
export const ActivationNow: FC<ActivationNowProps> = (props) => {
  const { frame, activation, askers, seq, view } = props
  const { id } = activation
  return (
    <section
      class="live"
      data-running
      data-activation={id}
      data-view={view}
      data-seq={seq}
      aria-label="Now"
    >
      {activation.state === 'parked' ? (
        <WaitsForPeople
          agentName={activation.agentName}
          tools={JSON.parse(activation.waitsFor)}
          mayDecide={frame.viewer?.isAdmin === true}
        />
      ) : (
        <AtWork {...props} />
      )}
      <StopForm viewer={frame.viewer} activation={activation} askers={askers} />
    </section>
  )
}

const AtWork: FC<ActivationNowProps> = ({ frame, activation, doing }) => (
  <>
    <p class="do" data-name={activation.agentName}>
      {activation.agentName} is {doing ?? 'working on an answer'}
    </p>
    <details id="reasoning" class="up2" data-reasoning hidden>
      <summary class="meta">What it thinks</summary>
      <p class="words" />
    </details>
    <div data-text hidden>
      <p class="words" />
    </div>
    <p class="meta up2">
      for <Working since={activation.startedAt} now={frame.now} />. What is known so far is below.
      <noscript> Reload the page to see more.</noscript>
    </p>
  </>
)
