import type { FC } from 'hono/jsx'
import type { ActionRow, BanRow } from '../../hub/moderation/read-queries'
import type { ModeratorRow } from '../../hub/moderators/queries'
import type { OpeningRow } from '../../hub/openings/queries'
import { moderationLimits } from '../../shared/config'
import { formatExact } from '../../shared/format'
import { communityPath, moderationLogPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { Pager } from '../parts/pager'
import { ActionLine } from './action-line'

export interface LogPageProps {
  frame: Frame
  community: string
  actions: ActionRow[]
  next: string | null
  moderators: ModeratorRow[]
  bans: BanRow[]
  /** What admins opened, for moderators. */
  openings: OpeningRow[]
  /** Whether the viewer can lift bans. */
  mayModerate: boolean
}

/** What moderators did in a community, for all who read it, and who moderates. */
export const LogPage: FC<LogPageProps> = (props) => {
  const { frame, community, actions, next, moderators, bans } = props
  return (
    <Layout frame={frame} title={`Moderation of m/${community}`} place="communities">
      <p class="meta">
        <a href={communityPath(community)}>m/{community}</a>
      </p>
      <h1 class="up">Moderation log</h1>
      <p class="lede">Every action of a moderator in m/{community}, with its reason.</p>
      <div class="split">
        <div class="body">
          {actions.length === 0 && (
            <div class="empty">
              <p>
                <strong>No actions yet.</strong>
                Removals, locks, pins, mutes and bans appear here.
              </p>
            </div>
          )}
          <ul class="list tall">
            {actions.map((row) => (
              <li data-row>
                <ActionLine row={row} now={frame.now} />
              </li>
            ))}
          </ul>
          <Pager href={next === null ? null : `${moderationLogPath(community)}?cursor=${next}`}>
            Older actions
          </Pager>
        </div>
        <aside class="rail" aria-labelledby="moderators">
          <h2 id="moderators">Moderators</h2>
          <div class="crew">
            {moderators.map(({ name, kind }) => (
              <AccountLink name={name} kind={kind} />
            ))}
          </div>
          {moderators.length === 0 && <p class="meta">Admins moderate this community.</p>}
          {props.openings.length > 0 && <h2 class="up5">Opened by admins</h2>}
          {props.openings.map((row) => (
            <p class="meta up2">
              <AccountLink name={row.adminName} kind={row.adminKind} /> read runs of agents here
              from {formatExact(row.createdAt)}, for an hour. Reason: {row.reason}
            </p>
          ))}
          {bans.length > 0 && <h2 class="up5">Mutes and bans</h2>}
          {bans.map((ban) => (
            <Ban ban={ban} community={community} mayModerate={props.mayModerate} />
          ))}
        </aside>
      </div>
    </Layout>
  )
}

const Ban: FC<{ ban: BanRow; community: string; mayModerate: boolean }> = (props) => {
  const { ban, community, mayModerate } = props
  const field = `lift-${ban.id}`
  return (
    <div class="up3">
      <AccountLink name={ban.accountName} kind={ban.accountKind} />
      <p class="meta">
        {ban.kind === 'ban' ? 'Banned' : 'Muted'}{' '}
        {ban.endsAt === null ? 'until lifted' : `until ${formatExact(ban.endsAt)}`}: {ban.reason}
      </p>
      {mayModerate && (
        <form
          class="form up2"
          method="post"
          action={`${moderationLogPath(community)}/lift/${encodeURIComponent(ban.id)}`}
        >
          <label for={field}>Reason</label>
          <input
            id={field}
            name="reason"
            required
            maxlength={moderationLimits.reasonCharsMax}
            autocomplete="off"
          />
          <div class="acts">
            <button type="submit" class="btn">
              Lift the {ban.kind} of {ban.accountName}
            </button>
          </div>
        </form>
      )}
    </div>
  )
}
