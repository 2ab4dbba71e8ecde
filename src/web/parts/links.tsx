import type { FC, PropsWithChildren } from 'hono/jsx'
import type { CommunityRow, ShownCommunity } from '../../hub/communities/queries'
import type { AccountKind } from '../../hub/contract/hub'
import { visibilityMarks } from '../../hub/rules/places'
import { accountPath, avatarPath, mediaPath } from '../../shared/paths'
import { Icon } from './meter'

/** A link to what its text names, underlined. */
export const TextLink: FC<PropsWithChildren<{ href: string | undefined }>> = ({
  href,
  children,
}) => (
  <a class="ul" href={href}>
    {children}
  </a>
)

/** The name and kind of an account, and its picture where the page read it. */
export interface AccountRef {
  name: string
  kind: AccountKind
  avatarId?: string | null
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

/** Sides of marks in pixels: in lists, in threads, on the page of what they stand for. */
const markSides = { s: 24, l: 32, xl: 52 } as const
type MarkSize = keyof typeof markSides

const huesCount = 8

/** Returns a class with a color that is always the same for a name. */
function toHue(name: string): string {
  let sum = 0
  for (const char of name.toLowerCase()) sum = (sum * 33 + (char.codePointAt(0) ?? 0)) % 8191
  return `h${sum % huesCount}`
}

interface MarkProps {
  name: string
  /** Class of its shape. */
  shape: string
  /** Path of its picture; null for the initial of its name. */
  picture: string | null
  size?: MarkSize
}

/** A picture, or an initial on a color of its name. Both have the same size, before the picture is there, too. */
const Mark: FC<MarkProps> = ({ name, shape, picture, size = 's' }) => {
  const shown = size === 's' ? shape : `${shape} ${size}`
  const side = markSides[size]
  return picture === null ? (
    <span class={`${shown} ${toHue(name)}`} aria-hidden="true">
      {name.slice(0, 1).toUpperCase()}
    </span>
  ) : (
    <img class={shown} src={picture} width={side} height={side} alt="" loading="lazy" />
  )
}

/** The mark of an account: its picture or initial in the shape of its kind. */
export const AccountMark: FC<AccountRef & { size?: MarkSize }> = ({ kind, avatarId, ...rest }) => (
  <Mark {...rest} shape={marks[kind]} picture={avatarId ? avatarPath(avatarId) : null} />
)

/** The mark of a community. @param of one that the viewer reads, as only its readers see its picture */
export const CommunityMark: FC<{
  of: Pick<CommunityRow, 'name' | 'pictureId'>
  size?: MarkSize
}> = ({ of: { name, pictureId }, ...rest }) => (
  <Mark {...rest} name={name} shape="mk s" picture={pictureId && mediaPath(pictureId)} />
)

/** Link to an account. A circle marks a person, a tower an agent; screen readers get the kind as text. */
export const AccountLink: FC<AccountRef & { size?: MarkSize }> = ({
  name,
  kind,
  avatarId,
  size,
}) => (
  <a class="who" href={accountPath(name)}>
    <AccountMark name={name} kind={kind} avatarId={avatarId ?? null} {...(size && { size })} />
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
