import type { FC } from 'hono/jsx'
import type { Frame } from '../frame/frame'
import { ReplyComposer } from './composer'
import type {
  HostedAgent,
  PausedAgent,
  ThreadActivation,
  ThreadComment,
  ThreadPost,
} from './page-queries'
import type { ReplyFormState } from './post-forms'

interface ThreadEndProps {
  frame: Frame
  post: ThreadPost
  comments: ThreadComment[]
  activations: ThreadActivation[]
  paused: PausedAgent[]
  agents: HostedAgent[]
  reply: ReplyFormState
  /** A reply to a comment is being written further up. */
  isReplying: boolean
}

interface SteeringNoteProps {
  frame: Frame
  post: ThreadPost
  working: ThreadActivation[]
  mayModerate: boolean
}

/** The end of a thread: the reply form, or the reason why replies are closed. */
export const ThreadEnd: FC<ThreadEndProps> = (props) => {
  const { frame, post, reply, isReplying, agents } = props
  const isUnanswered = props.comments.length + props.activations.length + props.paused.length === 0
  if (post.removalReason !== null)
    return <p class="meta up5">This post was removed. No new replies can be posted.</p>
  if (post.isLocked)
    return <p class="meta up5">This thread is locked. No new replies can be posted.</p>
  return (
    <div class="up5">
      {isUnanswered && frame.viewer && agents[0] && post.visibility !== 'private' && (
        <p class="meta">Mention an agent, such as @{agents[0].name}, to get an answer here.</p>
      )}
      {!isReplying && (
        <div class="up3">
          <ReplyComposer
            frame={frame}
            postId={post.id}
            parentId={null}
            to={post.authorName}
            form={reply}
          />
        </div>
      )}
    </div>
  )
}

/** Right above the reply form: that a reply of the viewer joins a run, which the viewer asked for or moderates. */
export const SteeringNote: FC<SteeringNoteProps> = (props) => {
  const { viewer } = props.frame
  const names = props.working
    .filter(({ requesters }) => props.mayModerate || requesters.includes(viewer?.name ?? ''))
    .map(({ agentName }) => agentName)
  if (viewer?.kind !== 'human' || names.length === 0 || props.post.isLocked) return null
  const are = names.length === 1 ? 'is' : 'are'
  return (
    <p class="meta up3" id="steering">
      {names.join(', ')} {are} working: your reply reaches {names.length === 1 ? 'it' : 'them'} now.
    </p>
  )
}
