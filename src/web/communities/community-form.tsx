import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import {
  canManage,
  changeCommunity,
  changePicture,
  communityErrors,
  communityInput,
  communityUpdate,
  createCommunity,
  type Manager,
  memberInput,
  removeMember,
  setMember,
} from '../../hub/communities/actions'
import {
  type MemberRow,
  type OwnCommunity,
  selectMembers,
  selectShownCommunity,
} from '../../hub/communities/queries'
import { type HubEnv, readReader, requireViewer, toActor } from '../../hub/http/page-entry'
import { selectHubLimits } from '../../hub/moderation/reply-limit-queries'
import { visibilityLabels } from '../../hub/rules/places'
import { limits, type ReplyLimits } from '../../shared/config'
import type { AppError } from '../../shared/errors'
import { formatDay } from '../../shared/format'
import { communityPath, communitySettingsPath, communityTriggersPath } from '../../shared/paths'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  describeText,
  type FormDefinition,
  type FormState,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { imageFormRule, isImageProblem, PictureForm, readPictureForm } from '../frame/image-form'
import { Layout } from '../frame/layout'
import { FormKey, readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { type LimitField, LimitFields, limitFields, toLimitTexts } from '../moderation/limits-page'
import { AccountLink, CommunityMark, CommunityName, TextLink } from '../parts/links'

/** Members that the page shows. */
const membersMax = 500

/** Registers the pages that create a community, and show and change its settings and members. */
export function registerCommunityForms(app: Hono<HubEnv>): void {
  app.get('/communities-new', page(showNew))
  app.post('/communities-new', page(create))
  app.get(
    '/m/:name/settings',
    page((c) => showSettings(c, {})),
  )
  app.post('/m/:name/settings', page(changeSettings))
  app.post('/m/:name/picture', page(savePicture, imageFormRule))
  app.post('/m/:name/members', page(addMember))
  app.post('/m/:name/members/remove', page(remove))
}

async function requireManager(c: PageContext): Promise<Manager> {
  const viewer = await requireViewer(c, 'write')
  return { actor: await readFormActor(c, viewer), role: viewer.role, reader: await readReader(c) }
}

async function showNew(
  c: PageContext,
  form: NewCommunityFormState = emptyCommunityForm,
  status = 200,
): Promise<Response> {
  const { frame } = await readPage(c, {})
  return sendPage(
    c,
    <Layout frame={frame} title="Create a community" place="communities">
      <h1>Create a community</h1>
      <p class="lede">You become its moderator.</p>
      {frame.viewer ? (
        <NewCommunityForm form={form} isGuest={frame.viewer.role === 'guest'} />
      ) : (
        <p class="up3">
          <a href="/login?next=/communities-new">Sign in</a> to create a community.
        </p>
      )}
    </Layout>,
    status,
  )
}

async function create(c: PageContext): Promise<Response> {
  const read = readFormWith(communityInput, await readForm(c), newCommunityForm)
  try {
    const manager = await requireManager(c)
    if (!read.isValid) return showNew(c, read.form, 400)
    const { answer } = await createCommunity(c.var.context, manager, read.value)
    return c.redirect(communityPath(answer.name), 303)
  } catch (error) {
    const { form, status } = rejectForm(newCommunityForm, read.form, error)
    return showNew(c, form, status)
  }
}

const nameOf = (c: PageContext): string => c.req.param('name') ?? ''

const toSettings = (community: OwnCommunity): SettingsFormState =>
  createForm({
    display_name: community.displayName,
    description: community.description,
    visibility: community.visibility,
    follow_threads: String(community.followsThreads),
    ...toLimitTexts(community),
  })

async function showSettings(
  c: PageContext,
  {
    settings,
    newMember,
    picture = null,
  }: { settings?: SettingsFormState; newMember?: MemberFormState; picture?: AppError | null },
  status = 200,
): Promise<Response> {
  const reader = await readReader(c)
  const { frame, answers } = await readPage(c, {
    community: selectShownCommunity({ name: nameOf(c), reader }),
    members: selectMembers({ name: nameOf(c), reader, limit: membersMax, offset: 0 }),
    hubLimits: selectHubLimits(),
  })
  const { community, members } = answers
  if (!community) throw communityErrors.unknownPage()
  if (!community.isReadable) throw communityErrors.notMember()
  return sendPage(
    c,
    <SettingsPage
      frame={frame}
      community={community}
      members={members}
      hubLimits={answers.hubLimits}
      settings={settings ?? toSettings(community)}
      newMember={newMember ?? emptyMemberForm}
      picture={picture}
    />,
    status,
  )
}

async function changeSettings(c: PageContext): Promise<Response> {
  const read = readFormWith(communityUpdate, await readForm(c), settingsForm)
  const manager = await requireManager(c)
  if (!read.isValid) return showSettings(c, { settings: read.form }, 400)
  try {
    await changeCommunity(c.var.context, manager, nameOf(c), read.value)
  } catch (error) {
    const { form, status } = rejectForm(settingsForm, read.form, error)
    if (status !== 409) throw error
    return showSettings(c, { settings: form }, status)
  }
  return c.redirect(communitySettingsPath(nameOf(c)), 303)
}

async function savePicture(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write', { isWriting: true })
  try {
    const { file, key } = await readPictureForm(c)
    const manager = { actor: toActor(viewer, key), role: viewer.role, reader: await readReader(c) }
    await changePicture(c.var.context, manager, nameOf(c), file)
  } catch (error) {
    if (!isImageProblem(error)) throw error
    return showSettings(c, { picture: error }, error.status)
  }
  return c.redirect(communitySettingsPath(nameOf(c)), 303)
}

async function addMember(c: PageContext): Promise<Response> {
  const text = await readForm(c)
  const read = readFormWith(memberInput, text, memberForm)
  const manager = await requireManager(c)
  if (!read.isValid) return showSettings(c, { newMember: read.form }, 400)
  const account = text('account').trim().replace(/^@/, '')
  const of = { community: nameOf(c), account }
  try {
    await setMember(c.var.context, manager, of, read.value)
  } catch (error) {
    const { form, status } = rejectForm(memberForm, read.form, error)
    if (status !== 404) throw error
    return showSettings(c, { newMember: form }, status)
  }
  return c.redirect(communitySettingsPath(nameOf(c)), 303)
}

async function remove(c: PageContext): Promise<Response> {
  const text = await readForm(c)
  const manager = await requireManager(c)
  const of = { community: nameOf(c), account: text('account') }
  const { id } = await removeMember(c.var.context, manager, of)
  // whoever leaves may no longer read the community
  const isSelf = id === manager.actor.accountId
  return c.redirect(isSelf ? '/m' : communitySettingsPath(nameOf(c)), 303)
}

interface SettingsPageProps {
  frame: Frame
  community: OwnCommunity
  members: MemberRow[]
  settings: SettingsFormState
  /** Where the community has none of its own. */
  hubLimits: ReplyLimits
  newMember: MemberFormState
  /** Why a picture was not saved. */
  picture: AppError | null
}

/** Members of a community and, for those who manage it, its settings. */
const SettingsPage: FC<SettingsPageProps> = (props) => {
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
        {frame.viewer && (
          <>
            {' · '}
            <a href={communityTriggersPath(community.name)}>Triggers</a>
          </>
        )}
      </p>
      {isManager && (
        <section class="up4" aria-labelledby="settings">
          <h2 id="settings">Settings</h2>
          <SettingsForm
            form={props.settings}
            action={communitySettingsPath(community.name)}
            hubLimits={props.hubLimits}
          />
          <p class="up3">
            <a href={`${communitySettingsPath(community.name)}/webhooks`}>Webhooks</a>
          </p>
        </section>
      )}
      {isManager && (
        <section class="up6" aria-labelledby="picture">
          <h2 id="picture">Picture</h2>
          <div class="ident up3">
            <CommunityMark of={community} size="xl" />
            <PictureForm
              action={`${path}/picture`}
              hasPicture={community.pictureId !== null}
              problem={props.picture}
            />
          </div>
        </section>
      )}
      <section class="up6" aria-labelledby="members">
        <h2 id="members">Members</h2>
        {members.length === 0 && <p class="meta">No members yet.</p>}
        <ul class="list tall up3">
          {members.map((member) => (
            <li data-row>
              <div class="row">
                <AccountLink {...member} />
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
          <Submit name="role" value={other}>
            Make {member.name} a {other}
          </Submit>
        </form>
      )}
      <form method="post" action={`${path}/remove`}>
        <input type="hidden" name="account" value={member.name} />
        <Submit>{isSelf ? 'Leave' : `Remove ${member.name}`}</Submit>
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
        <Submit name="role" value="member">
          Add yourself as a member
        </Submit>
        <p class="meta up2">The admin log records that you joined.</p>
      </form>
    </Layout>
  )
}

const displayName = {
  parse: (text: string) => text.trim() || undefined,
  message: describeText('The title', 100),
}
const description = {
  message: describeText('The description', limits.community.descriptionCharsMax),
}
const visibility = { message: 'Choose a visibility.' }
const followThreads = {
  parse: (text: string) => (text === '' ? undefined : text === 'true'),
  message: 'Choose whether agents follow threads.',
}

type SharedField = 'display_name' | 'description' | 'visibility' | 'follow_threads'
type SettingsField = SharedField | LimitField
type SettingsFormState = FormState<SettingsField>

/** The form of a community that exists. */
const settingsForm: FormDefinition<SettingsField> = {
  rejected: 'The settings were not saved.',
  fields: {
    display_name: displayName,
    description,
    visibility,
    follow_threads: followThreads,
    ...limitFields(null),
  },
}

type NewField = 'name' | SharedField
type NewCommunityFormState = FormState<NewField>

/** The form of a new community. */
const newCommunityForm: FormDefinition<NewField> = {
  rejected: 'The community was not created.',
  fields: {
    name: {
      parse: (text) => text.trim().replace(/^m\//, ''),
      message: 'Enter 2 to 32 characters: a-z, 0-9, "_" or "-".',
    },
    display_name: displayName,
    description,
    visibility,
    follow_threads: followThreads,
  },
}

const emptyCommunityForm: NewCommunityFormState = createForm({
  name: '',
  display_name: '',
  description: '',
  visibility: 'public',
  follow_threads: 'true',
})

type MemberField = 'account' | 'role'
type MemberFormState = FormState<MemberField>

/** The form that adds a member. */
const memberForm: FormDefinition<MemberField> = {
  rejected: 'The member was not added.',
  fields: {
    account: { path: null },
    role: { message: 'Choose a role.' },
  },
  check: ({ account }) =>
    account.trim() === '' ? { account: 'Enter the name of an account.' } : {},
}

const emptyMemberForm: MemberFormState = createForm({ account: '', role: 'member' })

interface SharedFieldsProps<Name extends string> {
  form: FormState<Name | SharedField>
  /** Guests create public communities only. */
  isGuest?: boolean
}

/** The fields that new and existing communities have. */
const SharedFields = <Name extends string>({ form, isGuest }: SharedFieldsProps<Name>) => (
  <>
    <Field form={form} name="display_name" label="Title" maxlength={100} autocomplete="off" />
    <Field
      form={form}
      as="textarea"
      name="description"
      label="Description"
      rows={3}
      maxlength={limits.community.descriptionCharsMax}
    />
    {isGuest ? (
      <p class="meta">
        <input type="hidden" name="visibility" value="public" />
        Your community is public: everybody who can open this hub reads it. Members create others,
        too.
      </p>
    ) : (
      <Field
        form={form}
        as="select"
        name="visibility"
        label="Visibility"
        options={visibilityLabels}
        hint="Public: everybody who can open this hub. Members: this hub’s members and admins. Private: this community’s members only. Others can’t find the community or its posts. Admins see that a private community exists."
      />
    )}
    <Field
      form={form}
      as="select"
      name="follow_threads"
      label="Follow-up without a mention"
      options={followLabels}
      hint="After an agent answered in a thread, people can continue there without naming it."
    />
  </>
)

const NewCommunityForm: FC<{ form: NewCommunityFormState; isGuest: boolean }> = (props) => {
  const { form, isGuest } = props
  return (
    <>
      <ErrorSummary problem={form.problem} />
      <form class="form up4" method="post" action="/communities-new">
        <FormKey />
        <Field
          form={form}
          name="name"
          label="Name"
          required
          maxlength={34}
          autocomplete="off"
          hint="Shown as m/name."
        />
        <SharedFields form={form} isGuest={isGuest} />
        <div class="acts">
          <Submit isMain>Create community</Submit>
          <TextLink href="/m">Cancel</TextLink>
        </div>
      </form>
    </>
  )
}

const SettingsForm: FC<{
  form: SettingsFormState
  action: string
  hubLimits: ReplyLimits
}> = (props) => (
  <>
    <ErrorSummary problem={props.form.problem} />
    <form class="form up3" method="post" action={props.action}>
      <SharedFields form={props.form} />
      <LimitFields form={props.form} ofHub={props.hubLimits} />
      <div class="acts">
        <Submit isMain>Save</Submit>
      </div>
    </form>
  </>
)

const MemberForm: FC<{ form: MemberFormState; action: string }> = ({ form, action }) => (
  <>
    <ErrorSummary problem={form.problem} />
    <form class="form up3" method="post" action={action}>
      <Field
        form={form}
        name="account"
        label="Account"
        required
        maxlength={100}
        autocomplete="off"
        placeholder="Name of a person or an agent"
      />
      <Field form={form} as="select" name="role" label="Role" options={roleLabels} />
      <div class="acts">
        <Submit>Add member</Submit>
      </div>
    </form>
  </>
)

const followLabels = { true: 'Agents follow their threads', false: 'Agents need a mention' }
const roleLabels = { member: 'Member', moderator: 'Moderator' }
