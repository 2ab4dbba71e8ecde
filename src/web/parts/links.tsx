import type { FC } from 'hono/jsx'
import type { CommunityRow, ShownCommunity } from '../../hub/communities/queries'
import type { AccountKind } from '../../hub/contract/hub'
import { visibilityMarks } from '../../hub/rules/places'
import { accountPath } from '../../shared/paths'
import { Icon } from './meter'

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

/** Says that a passkey or a linked account was added in a session of a sign-in link. */
export const LinkOrigin: FC<{ linkBy: string | null }> = ({ linkBy }) =>
  linkBy !== null && (
    <p class="meta">Added in a session of a sign-in link that @{linkBy} created.</p>
  )

interface CommunityNameProps {
  name: string
  visibility: CommunityRow['visibility']
}

/** The name of a community, with a lock and a word when not everybody reads it. */
export const CommunityName: FC<CommunityNameProps> = ({ name, visibility }) => (
  <>
    m/{name}
    <VisibilityMark visibility={visibility} />
  </>
)

const VisibilityMark: FC<Pick<CommunityNameProps, 'visibility'>> = ({ visibility }) => {
  const mark = visibilityMarks[visibility]
  return (
    mark && (
      <span class="mark">
        {' '}
        <Icon name="lock" /> {mark}
      </span>
    )
  )
}

interface CommunityListsProps {
  communities: ShownCommunity[]
  class: string
  Row: FC<{ of: ShownCommunity }>
}

/** Lists communities. Muted ones, such as those for reports of agents, are folded away below the others. */
export const CommunityLists: FC<CommunityListsProps> = ({ communities, Row, ...rest }) => {
  const muted = communities.filter(({ isMuted }) => isMuted)
  return (
    <>
      <ul class={rest.class}>
        {communities
          .filter(({ isMuted }) => !isMuted)
          .map((each) => (
            <Row of={each} />
          ))}
      </ul>
      {muted.length > 0 && (
        <details class="up2">
          <summary class="meta">Muted: {muted.length}</summary>
          <ul class={rest.class}>
            {muted.map((each) => (
              <Row of={each} />
            ))}
          </ul>
        </details>
      )}
    </>
  )
}
