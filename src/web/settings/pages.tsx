import type { Hono } from 'hono'
import * as z from 'zod'
import { profileInput, updateProfile } from '../../hub/accounts/actions'
import { selectOwnAccount } from '../../hub/accounts/queries'
import { type HubEnv, requireSameOrigin, requireViewer } from '../../hub/http/page-entry'
import { selectLinkNotices } from '../../hub/sign-in/queries'
import { createForm } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { themes } from '../frame/frame'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { setTheme } from '../frame/theme-cookie'
import { registerKeySettings } from './key-pages'
import { registerNotificationSettings } from './notification-pages'
import { type ProfileFormState, ProfilePage, profileForm } from './profile-page'
import { assertSignedIn, requireCredential, settingsPage } from './require-sign-in'
import { registerReviewHookSettings } from './review-hook-pages'
import { registerSessionSettings } from './session-pages'
import { registerSignInSettings } from './sign-in-pages'

const themeInput = z.enum(themes)

/** Registers `/settings`: profile, theme, ways to sign in, notifications, sessions, keys and review hooks of the viewer. */
export function registerSettingsPages(app: Hono<HubEnv>): void {
  app.get(
    '/settings',
    settingsPage((c) => showProfile(c, null)),
  )
  app.post('/settings/profile', page(saveProfile))
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
  registerReviewHookSettings(app)
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

/** @param form null: as the profile is stored */
async function showProfile(
  c: PageContext,
  form: ProfileFormState | null,
  status = 200,
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
    <ProfilePage frame={frame} form={form ?? stored} notices={answers.notices} />,
    status,
  )
}
