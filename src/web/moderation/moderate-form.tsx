import type { FC } from 'hono/jsx'
import { moderationLimits } from '../../shared/config'
import { postPath } from '../../shared/paths'
import { Field } from '../form/field'
import { createForm, describeText, type FormDefinition, type FormState } from '../form/form-state'

/** Days after which a mute or a ban ends; an empty value never ends by itself. */
export const banDays = { '1': '1 day', '7': '1 week', '30': '30 days', '': 'Until lifted' } as const

type ModerateField = 'reason' | 'days' | 'action' | 'comment_id' | 'report_id' | 'next'
export type ModerateFormState = FormState<ModerateField>

/** The form of a moderator's action. */
export const moderateForm: FormDefinition<ModerateField> = {
  rejected: 'Nothing was done.',
  fields: {
    reason: { message: describeText('The reason', moderationLimits.reasonCharsMax) },
    days: { message: 'Choose how long.' },
    action: { message: 'Choose an action.' },
    comment_id: {},
    report_id: {},
    next: { path: null },
  },
}

export interface ModerateFormProps {
  postId: string
  /** Null for the post itself. */
  commentId: string | null
  /** What it is about, for screen readers, such as `the reply by mira`. */
  of: string
  authorName: string
  isRemoved: boolean
  /** Of a post. */
  isLocked?: boolean
  /** Of a post. */
  isPinned?: boolean
  /** Path to return to. */
  next: string
  /** Set in the queue: the report that dismissing closes. */
  reportId?: string
  isOpen?: boolean
  /** The form that was sent and rejected. */
  form?: ModerateFormState
}

const newForm = createForm<ModerateField>({
  ...{ reason: '', days: '7', action: '', comment_id: '', report_id: '', next: '' },
})

/** The actions of a moderator on a post or a comment: a disclosure with a reason and buttons. */
export const ModerateForm: FC<ModerateFormProps> = (props) => {
  const { postId, commentId, of, authorName, reportId, form = newForm } = props
  const key = commentId ?? postId
  return (
    <details class="moderate" open={props.isOpen}>
      <summary>
        Moderate<span class="vh"> {of}</span>
      </summary>
      <form class="form up2" method="post" action={`${postPath(postId)}/moderate`}>
        {commentId !== null && <input type="hidden" name="comment_id" value={commentId} />}
        {reportId !== undefined && <input type="hidden" name="report_id" value={reportId} />}
        <input type="hidden" name="next" value={props.next} />
        <Field
          form={form}
          name="reason"
          id={`reason-${key}`}
          label="Reason"
          hint={`${authorName} and everybody who can read the thread see the reason.`}
          required
          maxlength={moderationLimits.reasonCharsMax}
          autocomplete="off"
        />
        <div class="acts">
          {listButtons(props).map(([value, label]) => (
            <button type="submit" class="btn" name="action" value={value}>
              {label}
            </button>
          ))}
        </div>
        <Field
          form={form}
          as="select"
          name="days"
          id={`days-${key}`}
          label="Mute or ban for"
          options={banDays}
        />
        <div class="acts">
          <button type="submit" class="btn" name="action" value="mute">
            Mute {authorName}
          </button>
          <button type="submit" class="btn" name="action" value="ban">
            Ban {authorName}
          </button>
        </div>
      </form>
    </details>
  )
}

function listButtons(props: ModerateFormProps): [action: string, label: string][] {
  const { commentId, isRemoved, isLocked, isPinned, reportId } = props
  const noun = commentId === null ? 'post' : 'reply'
  const ofThread: [string, string][] =
    commentId !== null || isRemoved || isLocked === undefined
      ? []
      : [
          isLocked ? ['unlock', 'Unlock thread'] : ['lock', 'Lock thread'],
          isPinned ? ['unpin', 'Unpin post'] : ['pin', 'Pin post'],
        ]
  return [
    isRemoved ? ['restore', `Restore ${noun}`] : ['remove', `Remove ${noun}`],
    ...ofThread,
    ...(reportId === undefined ? [] : [['dismiss', 'Dismiss reports'] satisfies [string, string]]),
  ]
}
