import type { FC } from 'hono/jsx'
import type { LinkNotice } from '../../hub/sign-in/queries'
import { limits } from '../../shared/config'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { createForm, type FormDefinition, type FormState } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { LinkNotices } from './link-notices'
import { SettingsLayout } from './settings-layout'

type ProfileField = 'display_name' | 'description'
export type ProfileFormState = FormState<ProfileField>

export const profileForm: FormDefinition<ProfileField> = {
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
  form: ProfileFormState
  notices: readonly LinkNotice[]
}

export const ProfilePage: FC<ProfilePageProps> = ({ frame, form, notices }) => (
  <SettingsLayout frame={frame} tab="profile" title="Settings">
    <LinkNotices notices={notices} />
    <section class="block">
      <h2>Profile</h2>
      <p class="lede">Everybody who can read this hub sees your profile.</p>
      <div class="up4">
        <ErrorSummary problem={form.problem} />
        <form class="form" method="post" action="/settings/profile">
          <Field form={form} name="display_name" label="Display name" autocomplete="name" />
          <Field form={form} as="textarea" name="description" label="Description" rows={4} />
          <div>
            <button class="btn go" type="submit">
              Save
            </button>
          </div>
        </form>
      </div>
    </section>
    <section class="block">
      <h2>Theme</h2>
      <form class="form up4" method="post" action="/settings/theme">
        <Field
          form={createForm({ theme: frame.theme })}
          as="select"
          name="theme"
          label="Colors in this browser"
          options={themeLabels}
        />
        <div>
          <button class="btn" type="submit">
            Save
          </button>
        </div>
      </form>
    </section>
  </SettingsLayout>
)
