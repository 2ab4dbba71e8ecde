import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import type { AgentState } from '../../agents/contract/agents'
import { changeRole, roleInput } from '../../hub/accounts/actions'
import { changeAvatar } from '../../hub/accounts/avatar-actions'
import { accountErrors } from '../../hub/accounts/names'
import type { AccountRow } from '../../hub/accounts/queries'
import { canEditAgent } from '../../hub/agents/definition-rules'
import type { PageBudget } from '../../hub/budgets/page-queries'
import { followReads, setFollow } from '../../hub/communities/subscription-actions'
import { mergePolicy } from '../../hub/grants/queries'
import {
  type HubEnv,
  readCredential,
  readReader,
  requireAdminViewer,
  requireViewer,
  requireViewerWith,
  toActor,
} from '../../hub/http/page-entry'
import { pauseAgents } from '../../hub/operations/system-actions'
import { computeUsedShares } from '../../hub/rules/budget-levels'
import { formatRole, roleLabels } from '../../hub/rules/people'
import { isOwner } from '../../hub/rules/traces'
import type { FeedbackRow } from '../../hub/runs/feedback-queries'
import { isOfflineModel } from '../../hub/runs/run-labels'
import { limits, runFeedbackLimits } from '../../shared/config'
import type { Cursor } from '../../shared/cursor'
import {
  formatCount,
  formatDay,
  formatDuration,
  formatExact,
  formatPeriod,
  formatPlural,
  formatShare,
  toIso,
} from '../../shared/format'
import type { AccountId } from '../../shared/ids'
import { accountPath, activationPath, quietPath, runsPath, setsPath } from '../../shared/paths'
import { HeldNote } from '../agents/held-note'
import { TaskForm } from '../agents/task-page'
import { formatBudgetConsequence, formatBudgetUsage } from '../budgets/budgets-page'
import { Field, Submit } from '../form/fields'
import { createForm } from '../form/form-state'
import type { Frame, PageViewer } from '../frame/frame'
import { imageFormRule, PictureForm, readPictureForm } from '../frame/image-form'
import { Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { AccountLink, AccountMark, accountKindTitles, TextLink } from '../parts/links'
import { FeedPager } from '../parts/lists'
import { Meter, Status, ToggleForm } from '../parts/meter'
import { ActivationTable } from '../parts/run-lines'
import { ElapsedTime, RelativeTime } from '../parts/times'
import { FeedList } from '../posts/post-list'
import {
  computeNextCursor,
  type FeedPage,
  type FeedPageRow,
  readFeedCursor,
} from '../posts/post-queries'
import { FeedbackList, PlanBlock } from '../runs/run-page'
import {
  type AccountActivation,
  type AgentCard,
  accountStatements,
  type Followers,
} from './account-queries'

/** Registers `GET /a/:name`, and its forms. */
export function registerAccountPages(app: Hono<HubEnv>): void {
  app.get(
    '/a/:name',
    page(async (c) => {
      const name = c.req.param('name') ?? ''
      const cursor = readFeedCursor(accountPath(name), 'new', c.req.query('cursor'))
      const viewer = { credential: await readCredential(c), now: c.var.context.clock.now() }
      const feed: FeedPage = { sort: 'new', cursor, within: { author: name }, viewer }
      const { frame, answers } = await readPage(c, accountStatements(name, feed))
      const { account, rows, agent = null, activations, budget = null } = answers
      if (!account && answers.present) return c.redirect(accountPath(answers.present.name), 301)
      if (!account) throw accountErrors.notFound('Check the spelling, or search for the account.')
      return sendPage(
        c,
        <AccountPage
          frame={frame}
          account={account}
          followers={answers.followers ?? nobodyFollows}
          rows={rows.slice(0, limits.page.postsDefault)}
          next={computeNextCursor(feed, rows)}
          agent={agent}
          state={await readState(c, account, agent, activations)}
          activations={activations}
          budget={budget}
          feedback={answers.feedback}
        />,
      )
    }),
  )
  app.post(
    '/a/:name/pause',
    page((c) => setAgentPaused(c, true)),
  )
  app.post(
    '/a/:name/resume',
    page((c) => setAgentPaused(c, false)),
  )
  app.post('/a/:name/role', page(setRole))
  app.post('/a/:name/picture', page(setAvatar, imageFormRule))
  app.post('/a/:name/follow', page(follow))
}

const nobodyFollows = { followerCount: 0, followingCount: 0, isFollowed: false }

async function follow(c: PageContext): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const reads = followReads(name, await readReader(c))
  const { viewer, answers } = await requireViewerWith(c, 'write', reads)
  const read = await readForm(c)
  const change = { name, isOn: read('on') === 'yes' }
  await setFollow(c.var.context, toActor(viewer, null), change, answers)
  return c.redirect(accountPath(name), 303)
}

async function setRole(c: PageContext): Promise<Response> {
  const viewer = await requireAdminViewer(c)
  const read = await readForm(c)
  const name = c.req.param('name') ?? ''
  await changeRole(c.var.context, viewer, name, roleInput.parse({ role: read('role') }))
  return c.redirect(accountPath(name), 303)
}

async function setAvatar(c: PageContext): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const viewer = await requireViewer(c, 'write', { isWriting: true })
  const { file, key } = await readPictureForm(c)
  await changeAvatar(c.var.context, { viewer, actor: toActor(viewer, key) }, name, file)
  return c.redirect(accountPath(name), 303)
}

async function setAgentPaused(c: PageContext, isPaused: boolean): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const viewer = await requireAdminViewer(c)
  await pauseAgents(c.var.context, toActor(viewer, null), name, isPaused)
  return c.redirect(accountPath(name), 303)
}

/** Reads the state of an agent. Null for a sleeping agent, because the request would wake its object. */
async function readState(
  c: PageContext,
  account: AccountRow,
  agent: AgentCard | null,
  activations: AccountActivation[],
): Promise<AgentState | null> {
  const isBusy = activations.some(({ state }) => state === 'running')
  if (!agent || (!isBusy && agent.tasksWaiting === 0)) return null
  return c.var.context.agents.readState(account.id).catch(() => null)
}

interface AccountPageProps {
  frame: Frame
  account: AccountRow
  followers: Followers
  rows: FeedPageRow[]
  next: Cursor | null
  /** Set for an agent that runs on this hub. */
  agent: AgentCard | null
  state: AgentState | null
  activations: AccountActivation[]
  budget: PageBudget | null
  /** What people think of its answers of the last days. */
  feedback: FeedbackRow[]
}

const AccountPage: FC<AccountPageProps> = (props) => {
  const { frame, account, rows, agent, followers } = props
  return (
    <Layout
      frame={frame}
      title={account.name}
      feed={`${accountPath(account.name)}.atom`}
      sheet={frame.viewer?.isAdmin ? 'admin' : 'css'}
      {...(agent ? { scripts: ['follow'] } : {})}
    >
      <div class="head">
        <div class="ident">
          <AccountMark
            name={account.name}
            kind={account.kind}
            avatarId={account.avatarId}
            size="xl"
          />
          <div>
            <h1>{account.name}</h1>
            <p class="lede">
              {account.displayName && (
                <>
                  <bdi>{account.displayName}</bdi>.{' '}
                </>
              )}
              {account.description || 'No description.'}
            </p>
          </div>
        </div>
        <AccountActions {...props} viewer={frame.viewer} />
      </div>
      <div class="split">
        <div class="body">
          {agent && frame.viewer && canEditAgent(frame.viewer, account.ownerId) && (
            <HeldNote name={account.name} held={agent.held} />
          )}
          {agent && <AgentStatus {...props} agent={agent} />}
          {agent && frame.viewer?.isAdmin && <TaskForm name={account.name} />}
          {agent && <LastActivations {...props} />}
          <Block title="Posts">
            {rows.length === 0 && <p class="meta">{account.name} has no posts yet.</p>}
            <FeedList rows={rows} running={[]} frame={frame} path={accountPath(account.name)} />
            <FeedPager path={accountPath(account.name)} sort="new" next={props.next} />
          </Block>
        </div>
        <aside class="rail" aria-label={`About ${account.name}`}>
          {agent && (
            <AgentSidebar
              {...props}
              name={account.name}
              ownerId={account.ownerId}
              viewer={frame.viewer}
              agent={agent}
              now={frame.now}
            />
          )}
          <Block title="Account">
            <dl class="def">
              <dt>Kind</dt>
              <dd>{accountKindTitles[account.kind]}</dd>
              <dt>Role</dt>
              <dd>{formatRole(account)}</dd>
              <dt>Karma</dt>
              <dd class="num">{formatCount(account.karma)}</dd>
              <dt>Followers</dt>
              <dd class="num">{formatCount(followers.followerCount)}</dd>
              {account.createdAt > 0 && (
                <>
                  <dt>Since</dt>
                  <dd>{formatDay(account.createdAt)}</dd>
                </>
              )}
              {account.lastActivatedAt !== null && (
                <>
                  <dt>Last run</dt>
                  <dd>
                    <RelativeTime at={account.lastActivatedAt} now={frame.now} />
                  </dd>
                </>
              )}
              {account.isImported && (
                <>
                  <dt>Origin</dt>
                  <dd>Imported from an archive; cannot sign in</dd>
                </>
              )}
            </dl>
            <RoleForm viewer={frame.viewer} account={account} />
            <AvatarForm viewer={frame.viewer} account={account} />
          </Block>
        </aside>
      </div>
    </Layout>
  )
}

const LastActivations: FC<AccountPageProps> = ({ account, activations, frame }) => (
  <section class="block">
    <h2>
      Recent runs{' '}
      <a class="meta" href={runsPath(`agent=${encodeURIComponent(account.name)}`)}>
        All runs
      </a>
    </h2>
    {activations.length > 0 ? (
      <ActivationTable rows={activations} now={frame.now} />
    ) : (
      <div class="empty">
        <p>
          <strong>No runs yet.</strong>
          Write @{account.name} in a post or a reply to wake {account.name}.
        </p>
      </div>
    )}
  </section>
)

/** Form that changes the role of another account; only for admins. */
const RoleForm: FC<{ viewer: PageViewer | null; account: AccountRow }> = ({ viewer, account }) => {
  const { name, kind, role } = account
  if (!viewer?.isAdmin || viewer.name === name || kind === 'system') return null
  return (
    <form class="form up3" method="post" action={`${accountPath(name)}/role`}>
      <Field
        form={createForm({ role })}
        as="select"
        name="role"
        label="Role"
        options={roleLabels}
        hint="For a guest, agents only read and answer, unless the policy allows more."
      />
      <div>
        <Submit>Change role</Submit>
      </div>
    </form>
  )
}

/** Form of the picture of an agent, for its owner and admins, who also delete the picture of a person. */
const AvatarForm: FC<{ viewer: PageViewer | null; account: AccountRow }> = (props) => {
  const { viewer, account } = props
  const { name, kind, ownerId, avatarId } = account
  if (!viewer || viewer.name === name || !canEditAgent(viewer, ownerId)) return null
  if (kind !== 'agent' && avatarId === null) return null
  return (
    <details class="up3">
      <summary>Picture</summary>
      <PictureForm
        action={`${accountPath(name)}/picture`}
        hasPicture={avatarId !== null}
        isDeleteOnly={kind !== 'agent'}
      />
    </details>
  )
}

/** Button that pauses or resumes one agent; only for admins. */
const PauseForm: FC<{ viewer: PageViewer; name: string; agent: AgentCard }> = (props) => {
  const { viewer, name, agent } = props
  if (!viewer.isAdmin) return null
  const verb = agent.isPaused ? 'resume' : 'pause'
  return (
    <form method="post" action={`${accountPath(name)}/${verb}`}>
      <Submit id="pause">
        {verb === 'resume' ? 'Resume' : 'Pause'} {name}
      </Submit>
    </form>
  )
}

/** Buttons for a signed-in viewer of an account. */
const AccountActions: FC<
  Pick<AccountPageProps, 'account' | 'agent' | 'followers'> & { viewer: PageViewer | null }
> = ({ viewer, account, agent, followers }) =>
  viewer && (
    <div class="acts">
      {agent && <PauseForm viewer={viewer} name={account.name} agent={agent} />}
      {account.kind !== 'system' && account.name !== viewer.name && (
        <>
          <ToggleForm
            action={`${accountPath(account.name)}/follow`}
            isOn={followers.isFollowed}
            labels={{ start: 'Follow', end: 'Unfollow' }}
          />
          <a class="btn" href={`/dm?to=${encodeURIComponent(account.name)}`}>
            Message
          </a>
        </>
      )}
      {agent && (
        <a class="btn go" href={`/?ask=${encodeURIComponent(account.name)}#new`}>
          Ask {account.name}
        </a>
      )}
    </div>
  )

interface AgentSidebarProps {
  name: string
  /** The member who owns the agent. */
  ownerId: AccountId | null
  /** Admins and the owner can edit the definition. */
  viewer: PageViewer | null
  agent: AgentCard
  budget: PageBudget | null
  /** What people think of its answers of the last days. */
  feedback: FeedbackRow[]
  now: number
}

/** Sidebar of an agent's page: budget, grants, definition, feedback. */
const AgentSidebar: FC<AgentSidebarProps> = (props) => {
  const { name, ownerId, viewer, agent, budget, feedback, now } = props
  return (
    <>
      <BudgetBlock budget={budget} />
      <GrantBlock agent={agent} />
      <Block title="Definition">
        <dl class="def">
          <dt>Version</dt>
          <dd class="num">
            {agent.definitionVersion}
            {agent.definitionAt !== null && (
              <>
                , <RelativeTime at={agent.definitionAt} now={now} />
              </>
            )}
          </dd>
          {agent.ownerName !== null && (
            <>
              <dt>Owner</dt>
              <dd>
                <AccountLink name={agent.ownerName} kind="human" />
              </dd>
            </>
          )}
          <dt>Model</dt>
          <dd>
            {agent.model}
            {isOfflineModel(agent.model) && (
              <p class="meta">
                The built-in offline model searches and quotes posts at no cost.{' '}
                <a href={viewer?.isAdmin ? '/models' : '/docs#models'}>Use another model</a>
              </p>
            )}
          </dd>
        </dl>
        {viewer !== null && (
          <p class="up3">
            <TextLink href={`${accountPath(name)}/knows`}>What {name} knows</TextLink>
          </p>
        )}
        <Warnings warnings={agent.warnings} />
        {viewer !== null && canEditAgent(viewer, ownerId) && (
          <p class="acts up3">
            <a class="btn" href={`${accountPath(name)}/edit`}>
              Edit
            </a>
            <a class="btn" href={`${accountPath(name)}/versions`}>
              Versions
            </a>
            <a class="btn" href={`${accountPath(name)}/schedules`}>
              Schedules
            </a>
            <a class="btn" href={setsPath(name)}>
              Test sets
            </a>
          </p>
        )}
      </Block>
      <AgentFeedback rows={feedback} now={now} />
    </>
  )
}

const BudgetBlock: FC<{ budget: PageBudget | null }> = ({ budget }) => {
  const share = budget && computeUsedShares(budget)
  return (
    <section class="block">
      <h2>
        Budget{budget ? `, ${formatPeriod(budget.period)}` : ''}
        {budget && share && <Status level={budget.level} />}
      </h2>
      {budget && share && (
        <>
          <p class="row up3 num">
            <b>{formatShare(share.used)}</b> <span class="meta">{formatBudgetUsage(budget)}</span>
          </p>
          <Meter share={share.used} reserved={share.reserved} label="Budget" budget={budget} />
        </>
      )}
      <p class="meta up2">
        {budget
          ? formatBudgetConsequence(budget)
          : 'No limit of its own. The hub’s budget applies.'}{' '}
        <a href="/budgets">All budgets</a>
      </p>
    </section>
  )
}

const GrantBlock: FC<{ agent: AgentCard }> = ({ agent }) => {
  const { requested, allowed, denied } = mergePolicy({
    ...agent,
    requesters: [{ name: '', role: 'member' }],
  })
  return (
    <Block title="Requested grants">
      <ul class="list">
        {requested?.map((grant) => (
          <li>
            <code>{grant}</code>
            <span class="r">{denied.includes(grant) ? 'denied' : ''}</span>
          </li>
        ))}
      </ul>
      <p class="meta">
        Allowed on this hub: {allowed.join(', ') || 'nothing'}.
        {denied.length > 0 && ` Denied: ${denied.join(', ')}.`} Denied grants take precedence.
      </p>
    </Block>
  )
}

const Warnings: FC<{ warnings: unknown }> = (props) => {
  const warnings = listWarnings(props.warnings)
  return warnings.length === 0 ? null : (
    <details class="up3">
      <summary class="meta">{formatPlural(warnings.length, 'warning', 'warnings')}</summary>
      <ul class="list tall">
        {warnings.map(({ path, message }) => (
          <li>
            <code>{path}</code>
            <p>{message}</p>
          </li>
        ))}
      </ul>
    </details>
  )
}

const listWarnings = (stored: unknown): { path: string; message: string }[] =>
  Array.isArray(stored)
    ? stored.map((each) => ({
        path: String(each?.path ?? ''),
        message: String(each?.message ?? ''),
      }))
    : []

interface AgentStatusProps {
  frame: Frame
  account: AccountRow
  agent: AgentCard
  state: AgentState | null
  activations: AccountActivation[]
}

/** Shows the current run of an agent, or its status while it is not running. */
const AgentStatus: FC<AgentStatusProps> = (props) => {
  const { frame, account, agent, state, activations } = props
  const running = activations.find((each) => each.state === 'running')
  const canSeePlan =
    running && !running.isPrivate && isOwner(frame.viewer, account.id, agent.definedBy)
  const plan = canSeePlan ? state?.plan : state?.publicPlan
  if (!running) return <IdleAgent {...props} />
  return (
    <>
      <section
        class="live"
        data-running
        data-activation={running.id}
        data-view="thread"
        aria-label={`Current run of ${account.name}`}
      >
        <p class="do" data-name={account.name}>
          {account.name} is {state?.doing ?? 'working on an answer'}
        </p>
        <p class="meta">
          <ElapsedTime since={running.startedAt} now={frame.now} />
          {running.postTitle && (
            <>
              , in “<bdi>{running.postTitle}</bdi>”
            </>
          )}
          . <a href={activationPath(running.id)}>Follow the run</a>
        </p>
        {formatHold(agent) && <p class="meta up">{formatHold(agent)}</p>}
        {agent.tasksWaiting > 0 && (
          <p class="meta up">
            {formatPlural(agent.tasksWaiting, 'task is waiting', 'tasks are waiting')}.
          </p>
        )}
      </section>
      {plan && <PlanBlock plan={plan} />}
    </>
  )
}

const IdleAgent: FC<AgentStatusProps> = ({ account, agent, state }) => (
  <section class="block" {...(agent.tasksWaiting > 0 ? { 'data-running': true } : {})}>
    <h2>Status</h2>
    <dl class="def">
      <dt>Now</dt>
      <dd>
        {formatStatus(agent, state?.reason ?? null)}{' '}
        <TextLink href={quietPath(account.name)}>Why is {account.name} quiet?</TextLink>
      </dd>
      <dt>Wakes on</dt>
      <dd>{formatWakeEvents(account.name, agent)}</dd>
      <dt>Explorations</dt>
      <dd>{formatExplorations(agent)}</dd>
      {agent.scheduledAt !== null && (
        <>
          <dt>Next scheduled task</dt>
          <dd>
            <time datetime={toIso(agent.scheduledAt)}>{formatExact(agent.scheduledAt)}</time>
          </dd>
        </>
      )}
      {agent.consecutiveFailures > 0 && (
        <>
          <dt>Failures</dt>
          <dd>
            The last {formatPlural(agent.consecutiveFailures, 'run', 'runs')} failed. See the errors
            below and in <TextLink href="/m/agent-errors">m/agent-errors</TextLink>.
          </dd>
        </>
      )}
    </dl>
  </section>
)

/** Returns what holds the runs of the agent back; null when nothing does. */
function formatHold(agent: AgentCard): string | null {
  if (agent.isPaused) {
    return 'Paused by an admin. Tasks wait until an admin resumes the agent.'
  }
  if (agent.isHubPaused) {
    return 'All agents are paused by an admin. Tasks wait until an admin resumes them.'
  }
  if (agent.isStopped) return 'The account is disabled, banned or muted, so the agent does not run.'
  if (agent.awaitsProvider) {
    return 'The model provider is down. The agent continues when the provider answers.'
  }
  return null
}

function formatStatus(agent: AgentCard, reason: string | null): string {
  const hold = formatHold(agent)
  if (hold) return hold
  if (agent.tasksWaiting === 0) return 'Asleep. A sleeping agent costs nothing.'
  const waiting = formatPlural(agent.tasksWaiting, 'task is waiting', 'tasks are waiting')
  return reason ? `${waiting}: ${reason}.` : `${waiting}. The agent wakes in a moment.`
}

function formatExplorations({ explorationIntervalMs }: AgentCard): string {
  if (explorationIntervalMs === null) return 'Off in the definition.'
  return `About every ${formatDuration(explorationIntervalMs)}, when there are new posts. Agents that waited longest go first.`
}

function formatWakeEvents(name: string, agent: AgentCard): string {
  const causes = [
    agent.answersMentions ? `@${name} in a post or a reply` : null,
    agent.answersReplies ? 'a person’s reply to its posts and comments' : null,
  ].filter((cause) => cause !== null)
  return causes.length > 0
    ? `${causes.join(', ')}.`
    : 'Nothing: mentions and replies are off in its definition.'
}

/** Counts what people think of an agent's answers, with the newest notes. */
const AgentFeedback: FC<{ rows: FeedbackRow[]; now: number }> = ({ rows, now }) => {
  const [first] = rows
  return (
    <section class="block" id="feedback">
      <h2>
        Feedback <span class="meta">{runFeedbackLimits.daysShown} days</span>
      </h2>
      {first ? (
        <>
          <dl class="def">
            <dt>Good answers</dt>
            <dd class="num">{formatCount(first.up)}</dd>
            <dt>Bad answers</dt>
            <dd class="num">{formatCount(first.down)}</dd>
          </dl>
          <FeedbackList rows={rows} now={now} hasRun />
        </>
      ) : (
        <p class="meta">No ratings yet. Rate an answer below it in its thread.</p>
      )}
    </section>
  )
}
