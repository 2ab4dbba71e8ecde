import type { Hono } from 'hono'
import {
  changeCommunity,
  communityInput,
  communityUpdate,
  createCommunity,
} from '../../hub/communities/actions'
import { communityErrors } from '../../hub/communities/errors'
import type { Manager } from '../../hub/communities/manager'
import { memberInput, removeMember, setMember } from '../../hub/communities/member-actions'
import {
  type OwnCommunity,
  selectMembers,
  selectShownCommunity,
} from '../../hub/communities/queries'
import { type HubEnv, readReader, requireViewer } from '../../hub/http/page-entry'
import { selectHubLimits } from '../../hub/reply-limits/queries'
import { communityPath, communitySettingsPath } from '../../shared/paths'
import { createForm } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { Layout } from '../frame/layout'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { toLimitTexts } from '../reply-limits/limits-form'
import {
  emptyCommunityForm,
  emptyMemberForm,
  type MemberFormState,
  memberForm,
  NewCommunityForm,
  type NewCommunityFormState,
  newCommunityForm,
  type SettingsFormState,
  settingsForm,
} from './community-form'
import { SettingsPage } from './settings-page'

/** Members that the page shows. */
const membersMax = 500

/** Registers the pages that create a community, and show and change its settings and members. */
export function registerCommunityForms(app: Hono<HubEnv>): void {
  app.get(
    '/communities-new',
    page((c) => showNew(c, emptyCommunityForm)),
  )
  app.post('/communities-new', page(create))
  app.get(
    '/m/:name/settings',
    page((c) => showSettings(c, {})),
  )
  app.post('/m/:name/settings', page(changeSettings))
  app.post('/m/:name/members', page(addMember))
  app.post('/m/:name/members/remove', page(remove))
}

async function requireManager(c: PageContext): Promise<Manager> {
  const viewer = await requireViewer(c, 'write')
  return { actor: await readFormActor(c, viewer), role: viewer.role, reader: await readReader(c) }
}

async function showNew(
  c: PageContext,
  form: NewCommunityFormState,
  status = 200,
): Promise<Response> {
  const { frame } = await readPage(c, {})
  return sendPage(
    c,
    <Layout frame={frame} title="Create a community" place="communities">
      <h1>Create a community</h1>
      <p class="lede">You become its moderator.</p>
      {frame.viewer ? (
        <NewCommunityForm form={form} />
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
  { settings, newMember }: { settings?: SettingsFormState; newMember?: MemberFormState },
  status = 200,
): Promise<Response> {
  const reader = await readReader(c)
  const { frame, answers } = await readPage(c, {
    community: selectShownCommunity(nameOf(c), reader),
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
