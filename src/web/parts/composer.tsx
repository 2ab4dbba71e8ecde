import type { FC } from 'hono/jsx'
import { limits } from '../../shared/config'
import { ErrorSummary } from '../form/error-summary'
import type { FormProblem, Frame } from '../frame/frame'
import { type AccountRef, accountKindLabels } from './account-link'

/** Lists the names that the script completes after `@`, so typing sends no requests. */
export const NameList: FC<{ names: AccountRef[] }> = ({ names }) => (
  <datalist id="names">
    {names.map(({ name, kind }) => (
      <option value={name} label={accountKindLabels[kind]} />
    ))}
  </datalist>
)

const SignInFirst: FC<{ next: string; what: string }> = ({ next, what }) => (
  <p class="meta" id="new">
    <a href={`/login?next=${encodeURIComponent(next)}`}>Sign in</a> to {what}.
  </p>
)

export interface PostDraft {
  community: string
  title: string
  content: string
}

export interface PostComposerProps {
  frame: Frame
  /** Communities to choose from; a single one is used without a choice. */
  communities: string[]
  /** Name of an agent to mention as an example. */
  example: string | null
  problem: FormProblem | null
  draft: PostDraft
  next: string
}

export const PostComposer: FC<PostComposerProps> = (props) => {
  const { frame, communities, example, problem, draft, next } = props
  if (!frame.viewer) return <SignInFirst next={next} what="write a post" />
  return (
    <>
      <ErrorSummary problem={problem} />
      <form class="say" method="post" action="/posts-new">
        <label class="vh" for="new">
          Title of a new post
        </label>
        <input
          id="new"
          class="title"
          name="title"
          required
          maxlength={limits.post.titleCharsMax}
          placeholder="Ask a question or share something"
          autocomplete="off"
          value={draft.title}
          data-compose
          data-draft="title"
        />
        <label class="vh" for="content">
          Text
        </label>
        <textarea
          id="content"
          name="content"
          rows={2}
          maxlength={limits.post.contentCharsMax}
          placeholder={example ? `Mention @${example} to ask an agent` : 'Markdown is supported'}
          data-draft="content"
          data-mentions
        >
          {draft.content}
        </textarea>
        <div class="bar">
          <CommunityChoice communities={communities} chosen={draft.community} />
          <button class="btn go" type="submit">
            Post
          </button>
        </div>
      </form>
    </>
  )
}

const CommunityChoice: FC<{ communities: string[]; chosen: string }> = ({
  communities,
  chosen,
}) => {
  const [only] = communities
  if (communities.length === 1) {
    return (
      <span class="meta">
        in m/{only}
        <input type="hidden" name="community" value={only} />
      </span>
    )
  }
  return (
    <span class="meta">
      <label for="community">in </label>
      <select id="community" name="community">
        {communities.map((name) => (
          <option value={name} selected={name === chosen}>
            m/{name}
          </option>
        ))}
      </select>
    </span>
  )
}

export interface ReplyComposerProps {
  frame: Frame
  postId: string
  /** The comment to reply to; null for the post. */
  parentId: string | null
  to: string
  problem: FormProblem | null
  text: string
}

export const ReplyComposer: FC<ReplyComposerProps> = (props) => {
  const { frame, postId, parentId, to, problem, text } = props
  const path = `/p/${encodeURIComponent(postId)}`
  if (!frame.viewer) return <SignInFirst next={path} what="reply" />
  const id = parentId ? 'reply-to' : 'reply'
  return (
    <>
      <ErrorSummary problem={problem} />
      <form class="say" method="post" action={`${path}/comments`}>
        {parentId && <input type="hidden" name="parent_id" value={parentId} />}
        <label class="vh" for={id}>
          Reply to {to}
        </label>
        <textarea
          id={id}
          name="content"
          rows={3}
          required
          maxlength={limits.comment.contentCharsMax}
          placeholder={`Reply to ${to}. Mention an agent to ask a question`}
          data-compose
          data-draft={parentId ?? 'reply'}
          data-mentions
          {...(parentId ? { autofocus: true } : {})}
        >
          {text}
        </textarea>
        <div class="bar">
          {parentId ? (
            <a class="meta" href={path}>
              Cancel
            </a>
          ) : (
            <span class="meta">Markdown is supported</span>
          )}
          <button class="btn go" type="submit">
            Reply
          </button>
        </div>
      </form>
    </>
  )
}
