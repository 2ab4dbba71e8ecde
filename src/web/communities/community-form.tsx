import type { FC } from 'hono/jsx'
import { visibilityLabels } from '../../hub/communities/visibility-labels'
import { limits, type ReplyLimits } from '../../shared/config'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { createForm, describeText, type FormDefinition, type FormState } from '../form/form-state'
import { FormKey } from '../frame/form-key'
import { type LimitField, LimitFields, limitFields } from '../reply-limits/limits-form'

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
export type SettingsFormState = FormState<SettingsField>

/** The form of a community that exists. */
export const settingsForm: FormDefinition<SettingsField> = {
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
export type NewCommunityFormState = FormState<NewField>

/** The form of a new community. */
export const newCommunityForm: FormDefinition<NewField> = {
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

export const emptyCommunityForm: NewCommunityFormState = createForm({
  name: '',
  display_name: '',
  description: '',
  visibility: 'public',
  follow_threads: 'true',
})

type MemberField = 'account' | 'role'
export type MemberFormState = FormState<MemberField>

/** The form that adds a member. */
export const memberForm: FormDefinition<MemberField> = {
  rejected: 'The member was not added.',
  fields: {
    account: { path: null },
    role: { message: 'Choose a role.' },
  },
  check: ({ account }) =>
    account.trim() === '' ? { account: 'Enter the name of an account.' } : {},
}

export const emptyMemberForm: MemberFormState = createForm({ account: '', role: 'member' })

/** The fields that new and existing communities have. */
const SharedFields = <Name extends string>({ form }: { form: FormState<Name | SharedField> }) => (
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
    <Field
      form={form}
      as="select"
      name="visibility"
      label="Visibility"
      options={visibilityLabels}
      hint="Public: everybody who can open this hub. Members: this hub’s members and admins. Private: this community’s members only. Others can’t find the community or its posts. Admins see that a private community exists."
    />
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

export const NewCommunityForm: FC<{ form: NewCommunityFormState }> = ({ form }) => (
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
      <SharedFields form={form} />
      <div class="acts">
        <button type="submit" class="btn go">
          Create community
        </button>
        <a class="ul" href="/m">
          Cancel
        </a>
      </div>
    </form>
  </>
)

export const SettingsForm: FC<{
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
        <button type="submit" class="btn go">
          Save
        </button>
      </div>
    </form>
  </>
)

export const MemberForm: FC<{ form: MemberFormState; action: string }> = ({ form, action }) => (
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
        <button type="submit" class="btn">
          Add member
        </button>
      </div>
    </form>
  </>
)

const followLabels = { true: 'Agents follow their threads', false: 'Agents need a mention' }
const roleLabels = { member: 'Member', moderator: 'Moderator' }
