import type { FC } from 'hono/jsx'
import type { NotWoken } from '../../hub/contract/hub'
import type { FollowingRow } from '../../hub/inbox/queries'
import type { WithdrawnQuestion } from '../../hub/inbox/stop-queries'
import { countContinued } from '../../hub/moderation/reply-limit-actions'
import type { LiftRow, NotWokenAgent } from '../../hub/moderation/reply-limit-queries'
import { explainReplyLimit } from '../../hub/rules/reply-limits'
import { formatReplyRefusal, isNoticePosted } from '../../hub/runs/run-labels'
import type { ReplyLimits } from '../../shared/config'
import { findNearest } from '../../shared/find-nearest'
import { formatPlural } from '../../shared/format'
import { listMentionedNames } from '../../shared/markdown/render-markdown'
import { accountPath, postPath, quietPath } from '../../shared/paths'
import { Submit } from '../form/fields'
import type { PageViewer } from '../frame/frame'
import { AccountLink, TextLink } from '../parts/links'
import { Icon } from '../parts/meter'
import { RelativeTime } from '../parts/times'
import type { PausedAgent, QuietMention, ThreadActivation } from './post-queries'

/** Link to what keeps an agent from answering in a thread. */
const QuietLink: FC<{ name: string; postId: string }> = ({ name, postId }) => (
  <TextLink href={quietPath(name, postId)}>Why is {name} quiet?</TextLink>
)

/** Says that a paused agent has an open task in this thread, and when it continues. */
export const PausedNotice: FC<{ of: PausedAgent; postId: string }> = ({ of, postId }) => (
  <div class="limit-notice">
    <Icon name="stop" />
    <div>
      <strong>
        {of.isHubPaused
          ? `All agents are paused. ${of.name} answers when an admin resumes them.`
          : `${of.name} is paused. ${of.name} answers when an admin resumes it.`}
      </strong>
      <p>
        <QuietLink name={of.name} postId={postId} />
      </p>
    </div>
  </div>
)

/** Says that an agent was mentioned and has not started. */
export const QuietNotice: FC<{ of: QuietMention; postId: string; now: number }> = (props) => {
  const { of, postId, now } = props
  return (
    <div class="limit-notice">
      <Icon name="stop" />
      <div>
        <strong>{of.name} has not answered yet</strong>
        <p>
          Mentioned <RelativeTime at={of.since} now={now} />.{' '}
          <QuietLink name={of.name} postId={postId} />
        </p>
      </div>
    </div>
  )
}

/** Below the stops of a thread: the button that lifts them once, with what happens then; others read who can. */
export const LiftForm: FC<{
  viewer: PageViewer | null
  postId: string
  stopped: NotWokenAgent[]
  limits: ReplyLimits
}> = ({ viewer, postId, stopped, limits }) => {
  const count = countContinued(limits)
  const liftable = stopped.filter(({ isLiftable }) => isLiftable)
  if (liftable.length === 0 || count === 0) return null
  const continued = liftable.filter(({ mayLift }) => mayLift).slice(0, count)
  if (viewer?.kind !== 'human' || continued.length === 0) {
    return (
      <p class="meta up3">
        The accounts that asked for this, moderators and admins can let the agents continue.
      </p>
    )
  }
  const names = [...new Set(continued.map(({ name }) => name))].join(', ')
  return (
    <form class="acts meta up3" method="post" action={`${postPath(postId)}/lifted-limits`}>
      <Submit>Lift limit once</Submit>
      <span>
        Wakes {names}. Agents can write{' '}
        {formatPlural(limits.replyLimit, 'more comment', 'more comments')} here. The runs are for
        you too, so your rights and budget count.
      </span>
    </form>
  )
}

/** Who lifted the limits of a thread. */
export const LiftedNote: FC<{ of: LiftRow; now: number }> = ({ of, now }) => (
  <p class="by up3">
    <AccountLink name={of.by} kind={of.byKind} />
    <span>
      lifted the limit between agents <RelativeTime at={of.at} now={now} />
    </span>
  </p>
)

interface MisspeltMention {
  name: string
  /** The agent that is most likely meant. */
  nearest: string
}

/** Notices of a page at most. */
const noticesMax = 3

/**
 * Returns mentions that name no account, with the agent of this hub whose name is near.
 *
 * @param known names of accounts in lower case
 */
export function findMisspeltMentions(
  texts: (string | null)[],
  known: ReadonlySet<string>,
  agents: readonly { name: string }[],
): MisspeltMention[] {
  const names = agents.map(({ name }) => name)
  const isAgent = new Set(names.map((name) => name.toLowerCase()))
  const unknown = texts
    .flatMap((html) => (html === null ? [] : listMentionedNames(html)))
    .filter((name) => !known.has(name) && !isAgent.has(name))
  return [...new Set(unknown)]
    .flatMap((name) => {
      const nearest = findNearest(name, names)
      return nearest === null ? [] : [{ name, nearest }]
    })
    .slice(0, noticesMax)
}

/** Notice that a mention names nobody, with the name that was most likely meant. */
export const MisspeltNotice: FC<{ of: MisspeltMention }> = ({ of: { name, nearest } }) => (
  <div class="limit-notice">
    <Icon name="stop" />
    <div>
      <strong>Nobody here is called @{name}</strong>
      <p>
        Did you mean <TextLink href={accountPath(nearest)}>@{nearest}</TextLink>? Mention it in a
        reply.
      </p>
    </div>
  </div>
)

/** Notice that a mention did not wake an agent: which reply limit was reached, and what to do. */
export const NotWokenNotice: FC<{
  of: NotWokenAgent
  postId: string
  limits: ReplyLimits
}> = ({ of: agent, postId, limits }) => (
  <div class="limit-notice">
    <Icon name="stop" />
    <div>
      <strong>
        The mention by {agent.by} did not wake {agent.name}
      </strong>
      <p>
        {explainReplyLimit(agent.refusal, limits)} <QuietLink name={agent.name} postId={postId} />
      </p>
    </div>
  </div>
)

/** Shows the author of a text which of its mentions reached nobody, and why. */
export const UnreachedNotice: FC<{ of: NotWoken[] }> = ({ of: names }) =>
  names.length === 0 ? null : (
    <div class="limit-notice" role="status">
      <Icon name="stop" />
      <div>
        <strong>These mentions reached nobody</strong>
        {names.map(({ name, reason }) => (
          <p>
            @{name}: {reason}
          </p>
        ))}
      </div>
    </div>
  )

/** Says that the answer of an agent was not posted, and why. */
export const RefusalNotice: FC<{ of: ThreadActivation; limits: ReplyLimits }> = ({
  of,
  limits,
}) => (
  <div class="limit-notice">
    <Icon name="stop" />
    <div>
      <strong>
        {isNoticePosted(of.replyRefusal)
          ? `The answer of ${of.agentName} was withheld`
          : `${of.agentName} did not post an answer`}
      </strong>
      <p>
        {formatReplyRefusal(of.replyRefusal, limits)}{' '}
        <TextLink href={`/activations/${of.id}`}>View run</TextLink>
      </p>
    </div>
  </div>
)

/** Below an agent's newest answer: that it follows the thread, and the button that ends it. */
export const FollowingNote: FC<{ of: FollowingRow; postId: string }> = ({ of, postId }) => (
  <form class="meta up2" method="post" action={`${postPath(postId)}/following`}>
    {of.agentName} follows this thread: reply without a mention.{' '}
    {of.mayEnd && (
      <button type="submit" class="btn link" name="agent" value={of.agentName}>
        Stop following
      </button>
    )}
  </form>
)

/** Below a comment that says stop: the questions that it withdrew before their agents started. */
export const WithdrawnNote: FC<{ by: string; of: readonly WithdrawnQuestion[] }> = ({ by, of }) => {
  if (of.length === 0) return null
  const questions = of.map(({ agent, requester }) =>
    requester === null || requester.name === by
      ? `the question to ${agent.name}`
      : `the question by ${requester.name} to ${agent.name}`,
  )
  return (
    <p class="meta">
      {by} withdrew {[...new Set(questions)].join(', ')} before a run started. Nothing is charged.
    </p>
  )
}
