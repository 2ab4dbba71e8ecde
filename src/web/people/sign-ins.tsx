import type { FC } from 'hono/jsx'
import type { AccountRow } from '../../hub/accounts/queries'
import type { IdentityRow, PasskeyRow } from '../../hub/people/person-queries'
import type { Frame } from '../frame/frame'
import { LinkOrigin } from '../parts/link-origin'
import { RelativeTime } from '../parts/relative-time'
import { personPath } from './people-labels'

interface SignInsProps {
  frame: Frame
  account: AccountRow
  passkeys: readonly PasskeyRow[]
  identities: readonly IdentityRow[]
}

/** Lists the passkeys and linked accounts of an account, each with a button that ends it. */
export const SignIns: FC<SignInsProps> = ({ frame, account: { name }, passkeys, identities }) => (
  <section class="block">
    <h2>Passkeys and linked accounts</h2>
    {passkeys.length + identities.length === 0 && (
      <p class="meta">{name} has no passkeys and no linked accounts.</p>
    )}
    <ul class="list tall">
      {passkeys.map((row) => (
        <Item row={row} now={frame.now} action={`${personPath(name)}/passkeys/${row.id}/revoke`}>
          Passkey <strong>{row.label}</strong> for {row.rpId}
        </Item>
      ))}
      {identities.map((row) => (
        <Item row={row} now={frame.now} action={`${personPath(name)}/identities/${row.id}/revoke`}>
          <strong>{row.label}</strong> at {new URL(row.issuer).host}
        </Item>
      ))}
    </ul>
  </section>
)

const Item: FC<{
  row: PasskeyRow | IdentityRow
  now: number
  action: string
  children?: unknown
}> = ({ row, now, action, children }) => (
  <li>
    <div>
      {children}
      <p class="meta">
        Added <RelativeTime at={row.createdAt} now={now} />,{' '}
        {row.lastUsedAt === null ? (
          'not used yet'
        ) : (
          <>
            last used <RelativeTime at={row.lastUsedAt} now={now} />
          </>
        )}
      </p>
      <LinkOrigin linkBy={row.linkBy} />
    </div>
    <form class="up2" method="post" action={action}>
      <button class="btn" type="submit">
        Delete<span class="vh"> {row.label}</span>
      </button>
    </form>
  </li>
)
