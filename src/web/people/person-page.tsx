import type { FC } from 'hono/jsx'
import type { AccountRow } from '../../hub/accounts/queries'
import { formatRole } from '../../hub/accounts/role-labels'
import { findAccountState } from '../../hub/people/list-queries'
import type {
  BanRow,
  CredentialRow,
  IdentityRow,
  OriginRow,
  PasskeyRow,
} from '../../hub/people/person-queries'
import { formatDay, formatExact } from '../../shared/format'
import { accountPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import type { FormProblem } from '../form/form-state'
import { AdminTabs } from '../frame/admin-tabs'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { accountKindTitles } from '../parts/account-link'
import { RelativeTime } from '../parts/relative-time'
import { TableHead } from '../parts/table-head'
import { personPath, stateLabels } from './people-labels'
import {
  BanForm,
  DeleteForm,
  DisableForm,
  ModeratorForm,
  RenameForm,
  RoleForm,
} from './person-forms'
import { SignIns } from './sign-ins'

export interface PersonPageProps {
  frame: Frame
  account: AccountRow
  credentials: CredentialRow[]
  passkeys: PasskeyRow[]
  identities: IdentityRow[]
  bans: BanRow[]
  origin: OriginRow | undefined
  formerNames: { name: string }[]
  problem: FormProblem | null
}

/** Shows an account to an admin, with everything that an admin can do with it. */
export const PersonPage: FC<PersonPageProps> = (props) => {
  const { frame, account, bans, origin, formerNames, problem } = props
  const { name } = account
  const restriction = findRestriction(bans, frame.now)
  const isFixed = account.deletedAt !== null || frame.viewer?.name === name
  return (
    <Layout frame={frame} title={name} place="admin" sheet="admin">
      <AdminTabs here="people" isAdmin={true} />
      <h1>{name}</h1>
      <p class="lede">
        <a class="ul" href={accountPath(name)}>
          Public page
        </a>
      </p>
      <ErrorSummary problem={problem} />
      <section class="block">
        <h2>Account</h2>
        <dl class="def">
          <dt>Kind</dt>
          <dd>{accountKindTitles[account.kind]}</dd>
          <dt>Role</dt>
          <dd>{formatRole(account)}</dd>
          <dt>State</dt>
          <dd>{stateLabels[findAccountState({ ...account, restriction })]}</dd>
          <dt>Owner</dt>
          <dd>{origin?.owner ?? 'None'}</dd>
          <dt>Invited by</dt>
          <dd>{origin?.inviter ?? 'Nobody'}</dd>
          {account.createdAt > 0 && (
            <>
              <dt>Since</dt>
              <dd>{formatDay(account.createdAt)}</dd>
            </>
          )}
          {formerNames.length > 0 && (
            <>
              <dt>Former names</dt>
              <dd>{formerNames.map((each) => each.name).join(', ')}</dd>
            </>
          )}
        </dl>
      </section>
      <Credentials {...props} />
      <SignIns {...props} />
      <Bans rows={bans} name={name} now={frame.now} />
      {!isFixed && (
        <>
          <RoleForm account={account} />
          <ModeratorForm account={account} />
          <BanForm name={name} />
          <DisableForm account={account} />
          {account.model === null && <RenameForm name={name} />}
          <DeleteForm name={name} />
        </>
      )}
    </Layout>
  )
}

/** The ban, or else the mute, that holds now. */
function findRestriction(bans: BanRow[], now: number): BanRow | null {
  const holding = bans.filter(
    ({ liftedAt, endsAt }) => liftedAt === null && (endsAt === null || endsAt > now),
  )
  return holding.find(({ kind }) => kind === 'ban') ?? holding[0] ?? null
}

const Credentials: FC<PersonPageProps> = ({ account, credentials, frame }) => (
  <section class="block">
    <h2>Keys and sessions</h2>
    {credentials.length === 0 ? (
      <p class="meta">{account.name} has no keys and is not signed in.</p>
    ) : (
      <>
        <table class="tbl fold">
          <TableHead columns={['Kind', 'Label', 'Scopes', 'Last used', 'Action']} />
          <tbody>
            {credentials.map((row) => (
              <tr>
                <td>{row.kind === 'session' ? 'Browser session' : 'Key'}</td>
                <td data-l="Label">{row.label || 'None'}</td>
                <td data-l="Scopes">{row.scopes.join(', ')}</td>
                <td data-l="Last used">
                  {row.lastUsedAt === null ? (
                    'Never'
                  ) : (
                    <RelativeTime at={row.lastUsedAt} now={frame.now} />
                  )}
                </td>
                <td data-l="Action">
                  <form method="post" action={`${personPath(account.name)}/keys/${row.id}/revoke`}>
                    <button class="btn" type="submit">
                      {row.kind === 'session' ? 'End' : 'Revoke'}
                      <span class="vh">
                        {' '}
                        {row.kind} {row.label || row.id}
                      </span>
                    </button>
                  </form>
                </td>
              </tr>
            ))}
          </tbody>
          <caption class="vh">Keys and browser sessions of {account.name}</caption>
        </table>
        <form class="up3" method="post" action={`${personPath(account.name)}/end-sessions`}>
          <button class="btn" type="submit">
            End all sessions
          </button>
        </form>
      </>
    )}
  </section>
)

const Bans: FC<{ rows: BanRow[]; name: string; now: number }> = ({ rows, name, now }) => (
  <section class="block">
    <h2>Bans and mutes</h2>
    {rows.length === 0 && <p class="meta">{name} was never banned or muted on the whole hub.</p>}
    <ul class="list tall">
      {rows.map((row) => (
        <li>
          <p>
            <strong>{row.kind === 'ban' ? 'Banned' : 'Muted'}</strong> by {row.by},{' '}
            <RelativeTime at={row.createdAt} now={now} />
            {row.endsAt === null ? '' : `, until ${formatExact(row.endsAt)}`}
            {row.liftedAt !== null && `, lifted ${formatExact(row.liftedAt)}`}: {row.reason}
          </p>
          {row.liftedAt === null && (row.endsAt ?? now + 1) > now && (
            <form class="up2" method="post" action={`${personPath(name)}/bans/${row.id}/lift`}>
              <button class="btn" type="submit">
                Lift {row.kind}
              </button>
            </form>
          )}
        </li>
      ))}
    </ul>
  </section>
)
