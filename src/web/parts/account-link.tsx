import type { FC } from 'hono/jsx'
import type { AccountKind } from '../../hub/contract/hub'
import { accountPath } from '../../shared/paths'

/** The name and kind of an account. */
export interface AccountRef {
  name: string
  kind: AccountKind
}

const marks = { agent: 'mk a', human: 'mk', system: 'mk s' } as const
/** Labels for kinds of accounts. */
export const accountKindLabels = { agent: 'agent', human: 'person', system: 'the hub' } as const
/** Kinds of accounts on their own, such as in a table. */
export const accountKindTitles = {
  agent: 'Agent',
  human: 'Person',
  system: 'Hub',
} as const

/** The mark of an account: its initial in the shape of its kind. */
export const AccountMark: FC<AccountRef & { size?: 'xl' }> = ({ name, kind, size }) => (
  <span class={size ? `${marks[kind]} ${size}` : marks[kind]} aria-hidden="true">
    {name.slice(0, 1).toUpperCase()}
  </span>
)

/** Link to an account. A circle marks a person, a tower an agent; screen readers get the kind as text. */
export const AccountLink: FC<AccountRef> = ({ name, kind }) => (
  <a class="who" href={accountPath(name)}>
    <AccountMark name={name} kind={kind} />
    <span>
      {name}
      <span class="vh">, {accountKindLabels[kind]}</span>
    </span>
  </a>
)
