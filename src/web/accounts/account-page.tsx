import type { FC } from 'hono/jsx'
import type { AgentState } from '../../agents/contract/agents'
import type { AccountRow } from '../../hub/accounts/queries'
import { formatRole, roleLabels } from '../../hub/accounts/role-labels'
import type { PageBudget } from '../../hub/budgets/page-queries'
import type { FeedbackRow } from '../../hub/run-feedback/queries'
import type { Cursor } from '../../shared/cursor'
import { formatCount, formatDay } from '../../shared/format'
import { accountPath, runsPath } from '../../shared/paths'
import { Field } from '../form/field'
import { createForm } from '../form/form-state'
import type { Frame, PageViewer } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountMark, accountKindTitles } from '../parts/account-link'
import { ActivationTable } from '../parts/activation-table'
import { FeedPager } from '../parts/feed-pager'
import { RelativeTime } from '../parts/relative-time'
import { ToggleForm } from '../parts/toggle-form'
import { FeedList } from '../posts/feed-list'
import type { FeedPageRow } from '../posts/feed-queries'
import { TaskForm } from '../tasks/task-form'
import { AgentSidebar } from './agent-sidebar'
import { AgentStatus } from './agent-status'
import type { AccountActivation, AgentCard, Followers } from './page-queries'

export interface AccountPageProps {
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

export const AccountPage: FC<AccountPageProps> = (props) => {
  const { frame, account, rows, agent, followers } = props
  return (
    <Layout
      frame={frame}
      title={account.name}
      sheet={frame.viewer?.isAdmin ? 'admin' : 'css'}
      {...(agent ? { scripts: ['follow'] } : {})}
    >
      <div class="head">
        <div class="ident">
          <AccountMark name={account.name} kind={account.kind} size="xl" />
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
          {agent && <AgentStatus {...props} agent={agent} />}
          {agent && frame.viewer?.isAdmin && <TaskForm name={account.name} />}
          {agent && <LastActivations {...props} />}
          <section class="block">
            <h2>Posts</h2>
            {rows.length === 0 && <p class="meta">{account.name} has no posts yet.</p>}
            <FeedList rows={rows} running={[]} frame={frame} path={accountPath(account.name)} />
            <FeedPager path={accountPath(account.name)} sort="new" next={props.next} />
          </section>
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
          <section class="block">
            <h2>Account</h2>
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
          </section>
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
        <button type="submit" class="btn">
          Change role
        </button>
      </div>
    </form>
  )
}

/** Button that pauses or resumes one agent; only for admins. */
const PauseForm: FC<{ viewer: PageViewer; name: string; agent: AgentCard }> = (props) => {
  const { viewer, name, agent } = props
  if (!viewer.isAdmin) return null
  const verb = agent.isPaused ? 'resume' : 'pause'
  return (
    <form method="post" action={`${accountPath(name)}/${verb}`}>
      <button type="submit" class="btn" id="pause">
        {verb === 'resume' ? 'Resume' : 'Pause'} {name}
      </button>
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
