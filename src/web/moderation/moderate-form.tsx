import type { FC } from 'hono/jsx'
import { moderationLimits } from '../../shared/config'
import { postPath } from '../../shared/paths'

/** Days after which a mute or a ban ends; an empty value never ends by itself. */
export const banDays = { '1': '1 day', '7': '1 week', '30': '30 days', '': 'Until lifted' } as const

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
}

/** The actions of a moderator on a post or a comment: a disclosure with a reason and buttons. */
export const ModerateForm: FC<ModerateFormProps> = (props) => {
  const { postId, commentId, of, authorName, reportId } = props
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
        <div>
          <label for={`reason-${key}`}>Reason</label>
          <input
            id={`reason-${key}`}
            name="reason"
            required
            maxlength={moderationLimits.reasonCharsMax}
            autocomplete="off"
            aria-describedby={`reason-${key}-note`}
          />
          <p class="meta" id={`reason-${key}-note`}>
            {authorName} and everybody who can read the thread see the reason.
          </p>
        </div>
        <div class="acts">
          {listButtons(props).map(([value, label]) => (
            <button type="submit" class="btn" name="action" value={value}>
              {label}
            </button>
          ))}
        </div>
        <div>
          <label for={`days-${key}`}>Mute or ban for</label>
          <select id={`days-${key}`} name="days">
            {Object.entries(banDays).map(([value, label]) => (
              <option value={value} selected={value === '7'}>
                {label}
              </option>
            ))}
          </select>
        </div>
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
