import type { FC } from 'hono/jsx'
import { moderationLimits } from '../../shared/config'
import { contentPath, postPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { describeText, type FormDefinition, type FormState } from '../form/form-state'
import { FormKey } from '../frame/form-key'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'

type ReportField = 'reason'
export type ReportFormState = FormState<ReportField>

/** The form of a report. */
export const reportForm: FormDefinition<ReportField> = {
  rejected: 'The report was not sent.',
  fields: { reason: { message: describeText('The reason', moderationLimits.reasonCharsMax) } },
}

export interface ReportPageProps {
  frame: Frame
  postId: string
  commentId: string | null
  authorName: string
  communityName: string
  form: ReportFormState
  /** The viewer has just sent it. */
  isSent: boolean
}

export const ReportPage: FC<ReportPageProps> = (props) => {
  const { frame, postId, commentId, authorName, communityName, form } = props
  const noun = commentId === null ? 'post' : 'reply'
  if (props.isSent) return <SentPage {...props} noun={noun} />
  return (
    <Layout frame={frame} title={`Report a ${noun}`}>
      <h1>Report a {noun}</h1>
      <p class="lede">
        By{' '}
        <a class="ul" href={contentPath(postId, commentId)}>
          {authorName}
        </a>{' '}
        in m/{communityName}. Its moderators see your name and the reason. The outcome appears in
        your inbox.
      </p>
      <ErrorSummary problem={form.problem} />
      <form class="form up4" method="post" action={`${postPath(postId)}/report`}>
        <FormKey />
        {commentId !== null && <input type="hidden" name="comment_id" value={commentId} />}
        <Field
          form={form}
          as="textarea"
          name="reason"
          label="Reason"
          rows={3}
          required
          maxlength={moderationLimits.reasonCharsMax}
        />
        <div class="acts">
          <button type="submit" class="btn go">
            Send report
          </button>
          <a class="meta" href={contentPath(postId, commentId)}>
            Cancel
          </a>
        </div>
      </form>
    </Layout>
  )
}

const SentPage: FC<ReportPageProps & { noun: string }> = (props) => (
  <Layout frame={props.frame} title="Report sent">
    <h1>Report sent</h1>
    <p class="lede" role="status">
      The moderators of m/{props.communityName} decide about the {props.noun} by {props.authorName}.
      The outcome appears in your inbox.
    </p>
    <div class="acts up4">
      <a class="btn go" href={contentPath(props.postId, props.commentId)}>
        Back to the thread
      </a>
      <a class="ul" href="/moderation/mine">
        Your reports
      </a>
    </div>
  </Layout>
)
