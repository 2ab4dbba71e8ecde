import type { FC } from 'hono/jsx'
import type { ActivationDetail, Requester } from '../../hub/activations/page-queries'
import type { FeedbackRow } from '../../hub/run-feedback/queries'
import { activationPath, commentPath, postPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Prose } from '../parts/prose'
import { type FeedbackCounts, FeedbackForm, type FeedbackFormState } from './feedback-form'
import { FeedbackList } from './feedback-list'

export interface ReplyBlockProps {
  frame: Frame
  activation: ActivationDetail
  requesters: Requester[]
  feedback: FeedbackRow[]
  /** The form of the viewer's feedback that was sent and rejected. */
  feedbackForm: FeedbackFormState | null
  /** Whether the viewer may see feedback and give it. */
  isShown: boolean
}

const toNameSet = (requesters: Requester[]): ReadonlySet<string> =>
  new Set(requesters.map(({ name }) => name.toLowerCase()))

/** Shows the reply of a run, and what people think of it. */
export const ReplyBlock: FC<ReplyBlockProps> = (props) => {
  const { activation, requesters } = props
  return (
    <>
      {activation.reply !== null && (
        <section class="block">
          <h2>
            Reply{' '}
            {activation.postId && (
              <a
                class="meta"
                href={
                  activation.replyCommentId === null
                    ? postPath(activation.postId)
                    : commentPath(activation.postId, activation.replyCommentId)
                }
              >
                View in thread
              </a>
            )}
          </h2>
          <div class="up3">
            <Prose
              of={{ html: activation.replyHtml, content: activation.reply }}
              knownNames={toNameSet(requesters)}
            />
          </div>
        </section>
      )}
      {activation.state === 'done' && props.isShown && <FeedbackSection {...props} />}
    </>
  )
}

const toCounts = (rows: FeedbackRow[]): FeedbackCounts => {
  const own = rows.find(({ isOwn }) => isOwn)
  return {
    up: rows[0]?.up ?? 0,
    down: rows[0]?.down ?? 0,
    ownValue: own?.value ?? null,
    ownNote: own?.note ?? null,
  }
}

const FeedbackSection: FC<ReplyBlockProps> = ({ frame, activation, feedback, feedbackForm }) => {
  if (frame.viewer === null && feedback.length === 0) return null
  return (
    <section class="block" id="feedback" aria-labelledby="feedback-heading">
      <h2 id="feedback-heading">Feedback</h2>
      <FeedbackForm
        viewer={frame.viewer}
        activationId={activation.id}
        formKey={activation.id}
        agentName={activation.agentName}
        counts={toCounts(feedback)}
        next={`${activationPath(activation.id)}#feedback`}
        form={feedbackForm}
      />
      <FeedbackList rows={feedback} now={frame.now} />
    </section>
  )
}
