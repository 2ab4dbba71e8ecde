import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import * as z from 'zod'
import { profileInput, updateProfile } from '../../hub/accounts/actions'
import { changeOwnAvatar } from '../../hub/accounts/avatar-actions'
import { selectOwnAccount } from '../../hub/accounts/queries'
import { type HubEnv, requireSameOrigin, requireViewer, toActor } from '../../hub/http/page-entry'
import { type LinkNotice, selectLinkNotices } from '../../hub/sign-in/queries'
import { limits } from '../../shared/config'
import type { AppError } from '../../shared/errors'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormState,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import { type Frame, type PageViewer, themes } from '../frame/frame'
import { imageFormRule, isImageProblem, PictureForm, readPictureForm } from '../frame/image-form'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage, setTheme } from '../frame/send-page'
import { Block } from '../parts/block'
import { AccountMark } from '../parts/links'
import { registerKeySettings } from './keys-page'
import { registerNotificationSettings } from './notifications-page'
import { assertSignedIn, requireCredential, SettingsLayout, settingsPage } from './settings'
import { LinkNotices, registerSessionSettings, registerSignInSettings } from './sign-in-page'
import { registerTriggerSettings } from './triggers-page'
import { registerWebhookSettings } from './webhooks-page'

const themeInput = z.enum(themes)

/** Registers `/settings`: profile, theme, ways to sign in, notifications, sessions, keys, webhooks and triggers of the viewer. */
export function registerSettingsPages(app: Hono<HubEnv>): void {
  app.get('/settings', settingsPage(showProfile))
  app.post('/settings/profile', page(saveProfile))
  app.post('/settings/picture', page(savePicture, imageFormRule))
  app.post(
    '/settings/theme',
    page(async (c) => {
      requireSameOrigin(c)
      setTheme(c, themeInput.parse((await readForm(c))('theme')))
      return c.redirect('/settings', 303)
    }),
  )
  registerSignInSettings(app)
  registerNotificationSettings(app)
  registerSessionSettings(app)
  registerKeySettings(app)
  registerWebhookSettings(app)
  registerTriggerSettings(app)
}

async function saveProfile(c: PageContext): Promise<Response> {
  const read = readFormWith(profileInput, await readForm(c), profileForm)
  try {
    const viewer = await requireViewer(c, 'write')
    if (!read.isValid) return showProfile(c, read.form, 400)
    await updateProfile(c.var.context, viewer.id, read.value)
    return c.redirect('/settings', 303)
  } catch (error) {
    const { form, status } = rejectForm(profileForm, read.form, error)
    return showProfile(c, form, status)
  }
}

async function savePicture(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write', { isWriting: true })
  try {
    const { file, key } = await readPictureForm(c)
    await changeOwnAvatar(c.var.context, toActor(viewer, key), file)
  } catch (error) {
    if (!isImageProblem(error)) throw error
    return showProfile(c, null, error.status, error)
  }
  return c.redirect('/settings', 303)
}

/**
 * @param form null: as the profile is stored
 * @param problem why a picture was not saved
 */
async function showProfile(
  c: PageContext,
  form: ProfileFormState | null = null,
  status = 200,
  problem: AppError | null = null,
): Promise<Response> {
  const credential = await requireCredential(c)
  const now = c.var.context.clock.now()
  const { frame, answers } = await readPage(c, {
    account: selectOwnAccount(credential, now),
    notices: selectLinkNotices(credential, now),
  })
  assertSignedIn(frame)
  const { displayName, description = '' } = answers.account ?? {}
  const stored = createForm({ display_name: displayName ?? '', description })
  return sendPage(
    c,
    <ProfilePage
      frame={frame}
      viewer={frame.viewer}
      form={form ?? stored}
      problem={problem}
      notices={answers.notices}
    />,
    status,
  )
}

type ProfileField = 'display_name' | 'description'
type ProfileFormState = FormState<ProfileField>

const profileForm: FormDefinition<ProfileField> = {
  rejected: 'Your profile was not saved.',
  fields: {
    display_name: { message: 'A display name can have at most 60 characters.' },
    description: {
      message: `A description can have at most ${limits.account.descriptionCharsMax.toLocaleString('en-US')} characters.`,
    },
  },
}

const themeLabels = {
  system: 'As this device is set',
  light: 'Light',
  dark: 'Dark',
} as const

interface ProfilePageProps {
  frame: Frame
  viewer: PageViewer
  form: ProfileFormState
  /** Why a picture was not saved. */
  problem: AppError | null
  notices: readonly LinkNotice[]
}

const ProfilePage: FC<ProfilePageProps> = ({ frame, viewer, form, problem, notices }) => (
  <SettingsLayout frame={frame} tab="profile" title="Settings">
    <LinkNotices notices={notices} />
    <Block title="Profile">
      <p class="lede">Everybody who can read this hub sees your profile.</p>
      <div class="up4">
        <ErrorSummary problem={form.problem} />
        <form class="form" method="post" action="/settings/profile">
          <Field form={form} name="display_name" label="Display name" autocomplete="name" />
          <Field form={form} as="textarea" name="description" label="Description" rows={4} />
          <div>
            <Submit isMain>Save</Submit>
          </div>
        </form>
      </div>
    </Block>
    <Block title="Picture">
      <div class="ident up4">
        <AccountMark {...viewer} size="xl" />
        <PictureForm
          action="/settings/picture"
          hasPicture={viewer.avatarId !== null}
          problem={problem}
        />
      </div>
    </Block>
    <Block title="Theme">
      <form class="form up4" method="post" action="/settings/theme">
        <Field
          form={createForm({ theme: frame.theme })}
          as="select"
          name="theme"
          label="Colors in this browser"
          options={themeLabels}
        />
        <div>
          <Submit>Save</Submit>
        </div>
      </form>
    </Block>
  </SettingsLayout>
)
