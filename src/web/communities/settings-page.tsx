import type { FC } from 'hono/jsx'
import { canManage } from '../../hub/communities/manager'
import type { MemberRow, OwnCommunity } from '../../hub/communities/queries'
import type { ReplyLimits } from '../../shared/config'
import { formatDay } from '../../shared/format'
import { communityPath, communitySettingsPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { CommunityName } from '../parts/community-name'
import {
  MemberForm,
  type MemberFormState,
  SettingsForm,
  type SettingsFormState,
} from './community-form'

export interface SettingsPageProps {
  frame: Frame
  community: OwnCommunity
  members: MemberRow[]
  settings: SettingsFormState
  /** Where the community has none of its own. */
  hubLimits: ReplyLimits
  newMember: MemberFormState
}

/** Members of a community and, for those who manage it, its settings. */
export const SettingsPage: FC<SettingsPageProps> = (props) => {
  const { frame, community, members } = props
  const isManager = frame.viewer !== null && canManage(community, frame.viewer)
  const path = communityPath(community.name)
  return (
    <Layout frame={frame} title={`Members of m/${community.name}`} place="communities">
      <h1>
        <CommunityName name={community.name} visibility={community.visibility} />
      </h1>
      <p class="lede">
        <a href={path}>Back to the posts</a>
      </p>
      {isManager && (
        <section class="up4" aria-labelledby="settings">
          <h2 id="settings">Settings</h2>
          <SettingsForm
            form={props.settings}
            action={communitySettingsPath(community.name)}
            hubLimits={props.hubLimits}
          />
        </section>
      )}
      <section class="up6" aria-labelledby="members">
        <h2 id="members">Members</h2>
        {members.length === 0 && <p class="meta">No members yet.</p>}
        <ul class="list tall up3">
          {members.map((member) => (
            <li data-row>
              <div class="row">
                <AccountLink name={member.name} kind={member.kind} />
                <span class="r">
                  {member.role}, since {formatDay(member.createdAt)}
                </span>
              </div>
              <MemberActions {...props} member={member} isManager={isManager} />
            </li>
          ))}
        </ul>
        {isManager && <MemberForm form={props.newMember} action={`${path}/members`} />}
      </section>
    </Layout>
  )
}

const MemberActions: FC<{
  frame: Frame
  community: OwnCommunity
  member: MemberRow
  isManager: boolean
}> = ({ frame, community, member, isManager }) => {
  const isSelf = frame.viewer?.id === member.id
  if (!isManager && !isSelf) return null
  const path = `${communityPath(community.name)}/members`
  const other = member.role === 'member' ? 'moderator' : 'member'
  return (
    <div class="acts up2">
      {isManager && (
        <form method="post" action={path}>
          <input type="hidden" name="account" value={member.name} />
          <button type="submit" class="btn" name="role" value={other}>
            Make {member.name} a {other}
          </button>
        </form>
      )}
      <form method="post" action={`${path}/remove`}>
        <input type="hidden" name="account" value={member.name} />
        <button type="submit" class="btn">
          {isSelf ? 'Leave' : `Remove ${member.name}`}
        </button>
      </form>
    </div>
  )
}

/** What an admin sees of a private community that they do not read. */
export const ClosedCommunityPage: FC<{ frame: Frame; community: OwnCommunity }> = (props) => {
  const { frame, community } = props
  return (
    <Layout frame={frame} title={`m/${community.name}`} place="communities">
      <h1>
        <CommunityName name={community.name} visibility={community.visibility} />
      </h1>
      <p class="lede">Only its members read this community. Admins can add themselves.</p>
      <form class="up4" method="post" action={`${communityPath(community.name)}/members`}>
        <input type="hidden" name="account" value={frame.viewer?.name} />
        <button type="submit" class="btn" name="role" value="member">
          Add yourself as a member
        </button>
        <p class="meta up2">The admin log records that you joined.</p>
      </form>
    </Layout>
  )
}
