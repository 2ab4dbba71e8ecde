import type { FC } from 'hono/jsx'
import { isOrphan } from '../../hub/accounts/is-orphan'
import type { AccountRow } from '../../hub/accounts/queries'
import { roleLabels } from '../../hub/accounts/role-labels'
import { accountPath } from '../../shared/paths'
import { Field } from '../form/field'
import { createForm } from '../form/form-state'
import { FormKey } from '../frame/form-key'
import { personPath } from './people-labels'

const Section: FC<{ title: string; action: string; button: string; children?: unknown }> = (
  props,
) => (
  <section class="block">
    <h2>{props.title}</h2>
    <form class="form" method="post" action={props.action}>
      {props.children}
      <div>
        <button class="btn" type="submit">
          {props.button}
        </button>
      </div>
    </form>
  </section>
)

export const RoleForm: FC<{ account: AccountRow }> = ({ account: { name, role } }) => (
  <Section title="Role" action={`${accountPath(name)}/role`} button="Change role">
    <Field
      form={createForm({ role })}
      as="select"
      name="role"
      label="Role"
      options={roleLabels}
      hint="What the account can make agents do. Applies from its next request."
    />
  </Section>
)

/** Makes an account a moderator of the whole hub, or no longer one. */
export const ModeratorForm: FC<{ account: AccountRow }> = ({ account }) => {
  const { name, role, isModerator } = account
  if (role === 'guest' && !isModerator) return null
  return (
    <Section
      title="Moderator of the hub"
      action={`${personPath(name)}/moderator`}
      button={isModerator ? `Remove ${name} as moderator` : `Make ${name} a moderator`}
    >
      <input type="hidden" name="is_moderator" value={isModerator ? 'false' : 'true'} />
      <p class="meta">
        Moderators of the hub remove, lock and restore in every community that they read, and answer
        reports and appeals.
      </p>
    </Section>
  )
}

export const BanForm: FC<{ name: string }> = ({ name }) => {
  const form = createForm({ kind: 'ban', reason: '', days: '7' })
  return (
    <Section title="Ban or mute" action={`${personPath(name)}/ban`} button="Apply">
      <FormKey />
      <Field
        form={form}
        as="select"
        name="kind"
        label="Kind"
        options={{ ban: 'Ban: can’t read or write', mute: 'Mute: can only read and vote' }}
      />
      <Field form={form} name="reason" label="Reason" id="ban-reason" required maxlength={500} />
      <Field
        form={form}
        name="days"
        label="Days"
        type="number"
        min="1"
        max="3650"
        hint="Leave empty for no end. An admin can lift it at any time."
      />
    </Section>
  )
}

export const DisableForm: FC<{ account: AccountRow }> = ({ account }) =>
  account.disabledAt === null ? (
    <Section
      title="Disable"
      action={`${personPath(account.name)}/disable`}
      button={`Disable ${account.name}`}
    >
      <Field
        form={createForm({ reason: '' })}
        name="reason"
        label="Reason"
        id="disable-reason"
        hint={`Ends the sessions of ${account.name} and the runs that agents do for it, and stops its own agents.`}
        maxlength={500}
      />
    </Section>
  ) : (
    <EnableForm account={account} />
  )

const EnableForm: FC<{ account: AccountRow }> = ({ account }) => {
  const { name } = account
  const action = `${personPath(name)}/enable`
  return isOrphan(account) ? (
    <Section title="Take over" action={action} button={`Enable and own ${name}`}>
      <p class="meta">
        The account of its owner was deleted. When you enable {name}, it belongs to you: your budget
        pays for its runs, and it may do at most what you may. The admin log records this.
      </p>
    </Section>
  ) : (
    <Section title="Enable" action={action} button={`Enable ${name}`}>
      <p class="meta">The keys of {name} work again. A person has to sign in again.</p>
    </Section>
  )
}

export const RenameForm: FC<{ name: string }> = ({ name }) => (
  <Section title="Rename" action={`${personPath(name)}/rename`} button={`Rename ${name}`}>
    <Field
      form={createForm({ name: '' })}
      name="name"
      label="New name"
      hint={`Others can then take the name ${name}. Until then, links to it lead to this account.`}
      autocomplete="off"
      autocapitalize="none"
      required
    />
  </Section>
)

export const DeleteForm: FC<{ name: string }> = ({ name }) => {
  const form = createForm({ words: 'keep', confirm: '' })
  return (
    <Section title="Delete" action={`${personPath(name)}/delete`} button="Delete account">
      <Field
        form={form}
        as="select"
        name="words"
        label="Posts, comments and messages"
        options={{ keep: 'Keep', remove: 'Delete' }}
        hint="Keep: shown as by a deleted account. Delete: also from traces, sessions, memory and search."
      />
      <Field
        form={form}
        name="confirm"
        label="Name of the account, to confirm"
        hint="This cannot be undone."
        autocomplete="off"
        autocapitalize="none"
        required
      />
    </Section>
  )
}
