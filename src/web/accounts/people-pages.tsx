import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import * as z from 'zod'
import { isOrphan } from '../../hub/accounts/actions'
import {
  createInvitation,
  findInvitationState,
  type InvitationState,
  mailedInvitationInput,
  withdrawInvitation,
} from '../../hub/accounts/invitation-actions'
import { type InvitationRow, selectInvitations } from '../../hub/accounts/invitation-queries'
import {
  banInput,
  deleteAccount,
  deletionInput,
  disableAccount,
  enableAccount,
  endSessions,
  liftRestriction,
  nameInput,
  peopleErrors,
  reasonInput,
  renameAccount,
  restrictAccount,
  revokeAccountKey,
  revokeSignIn,
} from '../../hub/accounts/people-actions'
import {
  type AccountState,
  accountStates,
  type BanRow,
  type CredentialRow,
  findAccountState,
  type IdentityRow,
  type OriginRow,
  type PasskeyRow,
  type PersonRow,
  selectBans,
  selectCredentials,
  selectFormerNames,
  selectIdentitiesOf,
  selectOrigin,
  selectPasskeysOf,
  selectPeople,
} from '../../hub/accounts/people-queries'
import { type AccountRow, selectAccountByName } from '../../hub/accounts/queries'
import { changeHubModerator } from '../../hub/communities/actions'
import {
  type HubEnv,
  httpErrors,
  readCredential,
  requireAdmin,
  requireViewer,
} from '../../hub/http/page-entry'
import { formatRole, roleLabels } from '../../hub/rules/people'
import { peopleLimits } from '../../shared/config'
import { decodeCount, splitPage } from '../../shared/cursor'
import { formatDay, formatExact, formatPlural } from '../../shared/format'
import { accountPath } from '../../shared/paths'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormProblem,
  type FormState,
  readFormWith,
  rejectForm,
  toProblem,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { AdminTabs, Layout } from '../frame/layout'
import { FormKey, readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { Block } from '../parts/block'
import { AccountMark, accountKindTitles, LinkOrigin, TextLink } from '../parts/links'
import { Pager, TableHead } from '../parts/lists'
import { RelativeTime } from '../parts/times'

const DAY_MS = 86_400_000
const { pageSize } = peopleLimits
const invitationsShown = 20
const roles = Object.keys(roleLabels) as (keyof typeof roleLabels)[]

/** Registers `/admin/people`, where admins find accounts and invite people, and the forms of an account. */
export function registerPeoplePages(app: Hono<HubEnv>): void {
  const emptyInvitation = createForm({
    role: 'member',
    expires_in_days: String(peopleLimits.invitationDaysDefault),
    note: '',
    address: '',
  })
  app.get(
    '/admin/people',
    page((c) => showPeople(c, { form: emptyInvitation, url: null })),
  )
  app.post('/admin/people/invitations', page(sendInvitation))
  app.post('/admin/people/invitations/:id/withdraw', page(sendWithdrawal))
  app.get('/admin/people/:name', page(showPerson))
  for (const action of Object.keys(actions)) {
    app.post(
      `/admin/people/:name/${action}`,
      page((c) => sendAction(c, action)),
    )
  }
}

type Context = Parameters<typeof disableAccount>[0]
type Actor = Parameters<typeof disableAccount>[1]
const moderatorForm = z.object({ is_moderator: z.stringbool() })

interface Sent {
  context: Context
  actor: Actor
  name: string
  id: string
  read(field: string): string
}

/** What the forms of an account do; each returns the path of the page to show, if not the account's. */
const actions: Record<string, (sent: Sent) => Promise<unknown>> = {
  disable: ({ context, actor, name, read }) =>
    disableAccount(context, actor, name, reasonInput.parse({ reason: read('reason') })),
  enable: ({ context, actor, name }) => enableAccount(context, actor, name),
  ban: ({ context, actor, name, read }) =>
    restrictAccount(
      context,
      actor,
      name,
      banInput.parse({
        kind: read('kind'),
        reason: read('reason'),
        ends_at: toEnd(read('days'), context.clock.now()),
      }),
    ),
  'bans/:id/lift': ({ context, actor, name, id }) => liftRestriction(context, actor, name, id),
  'keys/:id/revoke': ({ context, actor, name, id }) => revokeAccountKey(context, actor, name, id),
  'passkeys/:id/revoke': ({ context, actor, name, id }) =>
    revokeSignIn(context, actor, name, { kind: 'passkey', id }),
  'identities/:id/revoke': ({ context, actor, name, id }) =>
    revokeSignIn(context, actor, name, { kind: 'identity', id }),
  moderator: ({ context, actor, name, read }) =>
    changeHubModerator(
      context,
      actor,
      name,
      moderatorForm.parse({ is_moderator: read('is_moderator') }),
    ),
  'end-sessions': ({ context, actor, name }) => endSessions(context, actor, name),
  rename: async ({ context, actor, name, read }) => {
    const input = nameInput.parse({ name: read('name').trim() })
    await renameAccount(context, actor, name, input)
    return personPath(input.name)
  },
  delete: async ({ context, actor, name, read }) => {
    if (read('confirm').trim() !== name) throw peopleErrors.wrongConfirmation()
    await deleteAccount(context, actor, name, deletionInput.parse({ words: read('words') }))
    return '/admin/people?state=deleted'
  },
}

/** Returns the end of a ban; a text that is no number of days is kept, so that it is rejected. */
function toEnd(days: string, now: number): string | null {
  if (days.trim() === '') return null
  const count = Number(days)
  return count > 0 && count <= 3_650 ? new Date(now + count * DAY_MS).toISOString() : days
}

async function sendAction(c: PageContext, action: string): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  requireAdmin(viewer)
  const name = c.req.param('name') ?? ''
  const sent = {
    context: c.var.context,
    actor: await readFormActor(c, viewer),
    name,
    id: c.req.param('id') ?? '',
    read: await readForm(c),
  }
  try {
    const path = await actions[action]?.(sent)
    return c.redirect(
      typeof path === 'string' && path.startsWith('/') ? path : personPath(name),
      303,
    )
  } catch (error) {
    const { status, ...problem } = toProblem(error)
    return showPerson(c, problem, status)
  }
}

async function showPerson(
  c: PageContext,
  problem: FormProblem | null = null,
  status = 200,
): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const { frame, answers } = await readPage(c, {
    account: selectAccountByName({ name }),
    credentials: selectCredentials(name, c.var.context.clock.now()),
    passkeys: selectPasskeysOf(name),
    identities: selectIdentitiesOf(name),
    bans: selectBans(name),
    origin: selectOrigin(name),
    formerNames: selectFormerNames(name),
  })
  await assertAdmin(c, frame.viewer)
  const { account, ...rest } = answers
  if (!account || account.kind === 'system') throw peopleErrors.notFound()
  return sendPage(
    c,
    <PersonPage frame={frame} account={account} {...rest} problem={problem} />,
    status,
  )
}

async function showPeople(
  c: PageContext,
  invitation: InvitationFacts,
  status = 200,
): Promise<Response> {
  const values = {
    q: c.req.query('q')?.trim() ?? '',
    role: c.req.query('role') ?? '',
    kind: c.req.query('kind') ?? '',
    state: c.req.query('state') ?? '',
  }
  const list = '/admin/people'
  const filter = {
    text: values.q.slice(0, 60),
    role: find(roles, values.role),
    kind: find(['human', 'agent'] as const, values.kind),
    state: find(accountStates, values.state),
    before: decodeCount(list, c.req.query('cursor')) || null,
    limit: pageSize + 1,
  }
  const { frame, answers } = await readPage(c, {
    rows: selectPeople(filter, c.var.context.clock.now()),
    invitations: selectInvitations({ createdBy: null, before: null, limit: invitationsShown }),
  })
  await assertAdmin(c, frame.viewer)
  const { page: rows, next } = splitPage(answers.rows, pageSize, list, ({ seq }) => seq)
  return sendPage(
    c,
    <PeoplePage
      frame={frame}
      rows={rows}
      values={values}
      next={next && new URLSearchParams({ ...values, cursor: next }).toString()}
      invitations={answers.invitations}
      invitation={invitation}
      hasMail={c.var.context.mail.problem === null}
    />,
    status,
  )
}

const find = <Value extends string>(values: readonly Value[], text: string): Value | null =>
  values.find((value) => value === text) ?? null

async function assertAdmin(c: PageContext, viewer: { isAdmin: boolean } | null): Promise<void> {
  if (viewer?.isAdmin) return
  if ((await readCredential(c)) && viewer) throw httpErrors.adminOnly()
  await requireViewer(c, 'read')
}

async function sendInvitation(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  requireAdmin(viewer)
  const read = readFormWith(mailedInvitationInput, await readForm(c), invitationForm)
  if (!read.isValid) return showPeople(c, { form: read.form, url: null }, 400)
  try {
    const actor = await readFormActor(c, viewer)
    const { address, ...input } = read.value
    const to = address?.address ?? null
    const { answer } = await createInvitation(c.var.context, viewer, actor, input, to)
    if (to !== null) return showPeople(c, { form: read.form, url: null, mailedTo: to })
    return showPeople(c, { form: read.form, url: `${c.var.origin}/join/${answer.token}` })
  } catch (error) {
    const { form, status } = rejectForm(invitationForm, read.form, error)
    return showPeople(c, { form, url: null }, status)
  }
}

async function sendWithdrawal(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  requireAdmin(viewer)
  await withdrawInvitation(c.var.context, viewer, c.req.param('id') ?? '')
  return c.redirect('/admin/people#invite', 303)
}

interface PeopleFilterValues {
  q: string
  role: string
  kind: string
  state: string
}

interface PeoplePageProps {
  frame: Frame
  rows: PersonRow[]
  values: PeopleFilterValues
  /** Query string of the next page; null on the last one. */
  next: string | null
  invitations: InvitationRow[]
  invitation: InvitationFacts
  hasMail: boolean
}

/** Lists accounts, and lets an admin invite people. */
const PeoplePage: FC<PeoplePageProps> = (props) => {
  const { frame, rows, values, next } = props
  return (
    <Layout
      frame={frame}
      title="People"
      place="admin/people"
      sheet="admin"
      {...(props.invitation.url !== null && { scripts: ['copy'] })}
    >
      <AdminTabs here="admin/people" isAdmin={true} />
      <h1>People</h1>
      <p class="lede">All accounts of people and agents.</p>
      <InvitationBlock {...props} />
      <Block title="Accounts">
        <FilterForm values={values} />
        {rows.length === 0 ? (
          <div class="empty">
            <p>
              <strong>No matching accounts.</strong>{' '}
              <TextLink href="/admin/people">Show all accounts</TextLink>
            </p>
          </div>
        ) : (
          <PeopleTable rows={rows} now={frame.now} />
        )}
        <Pager href={next && `/admin/people?${next}`}>Older accounts</Pager>
      </Block>
    </Layout>
  )
}

const FilterForm: FC<{ values: PeopleFilterValues }> = ({ values }) => {
  const form = createForm({ ...values })
  return (
    <form class="filter up3" action="/admin/people">
      <Field form={form} name="q" label="Name" type="search" autocomplete="off" />
      <Field
        form={form}
        as="select"
        name="role"
        label="Role"
        options={{ '': 'Any', ...roleLabels }}
      />
      <Field
        form={form}
        as="select"
        name="kind"
        label="Kind"
        options={{ '': 'Any', human: 'Person', agent: 'Agent' }}
      />
      <Field
        form={form}
        as="select"
        name="state"
        label="State"
        options={{ '': 'Any', ...stateLabels }}
      />
      <Submit>Filter</Submit>
    </form>
  )
}

const PeopleTable: FC<{ rows: PersonRow[]; now: number }> = ({ rows, now }) => (
  <table class="tbl fold up4">
    <TableHead columns={['Account', 'Kind', 'Role', 'State', 'Owner', 'Since']} />
    <tbody>
      {rows.map((row) => (
        <tr data-row>
          <td>
            <a class="who" href={personPath(row.name)}>
              <AccountMark name={row.name} kind={row.kind} avatarId={row.avatarId} />
              <span>{row.name}</span>
            </a>
            {row.displayName && (
              <div class="meta">
                <bdi>{row.displayName}</bdi>
              </div>
            )}
          </td>
          <td data-l="Kind">
            {accountKindTitles[row.kind]}
            {row.isHosted && ', runs on this hub'}
          </td>
          <td data-l="Role">{formatRole(row)}</td>
          <td data-l="State">{stateLabels[findAccountState(row)]}</td>
          <td data-l="Owner">{row.owner ?? 'None'}</td>
          <td class="nb" data-l="Since">
            {row.createdAt > 0 ? <RelativeTime at={row.createdAt} now={now} /> : 'Hub setup'}
          </td>
        </tr>
      ))}
    </tbody>
    <caption class="vh">{formatPlural(rows.length, 'account', 'accounts')}, newest first</caption>
  </table>
)

interface PersonPageProps {
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
const PersonPage: FC<PersonPageProps> = (props) => {
  const { frame, account, bans, origin, formerNames, problem } = props
  const { name } = account
  const restriction = findRestriction(bans, frame.now)
  const isFixed = account.deletedAt !== null || frame.viewer?.name === name
  return (
    <Layout frame={frame} title={name} place="admin/people" sheet="admin">
      <AdminTabs here="admin/people" isAdmin={true} />
      <h1>{name}</h1>
      <p class="lede">
        <TextLink href={accountPath(name)}>Public page</TextLink>
      </p>
      <ErrorSummary problem={problem} />
      <Block title="Account">
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
      </Block>
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
  <Block title="Keys and sessions">
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
                    <Submit>
                      {row.kind === 'session' ? 'End' : 'Revoke'}
                      <span class="vh">
                        {' '}
                        {row.kind} {row.label || row.id}
                      </span>
                    </Submit>
                  </form>
                </td>
              </tr>
            ))}
          </tbody>
          <caption class="vh">Keys and browser sessions of {account.name}</caption>
        </table>
        <form class="up3" method="post" action={`${personPath(account.name)}/end-sessions`}>
          <Submit>End all sessions</Submit>
        </form>
      </>
    )}
  </Block>
)

const Bans: FC<{ rows: BanRow[]; name: string; now: number }> = ({ rows, name, now }) => (
  <Block title="Bans and mutes">
    {rows.length === 0 && <p class="meta">{name} was never banned or muted on the whole hub.</p>}
    <ul class="list tall">
      {rows.map((row) => (
        <li>
          <p>
            <strong>{row.kind === 'ban' ? 'Banned' : 'Muted'}</strong> by {row.by.name},{' '}
            <RelativeTime at={row.createdAt} now={now} />
            {row.endsAt === null ? '' : `, until ${formatExact(row.endsAt)}`}
            {row.liftedAt !== null && `, lifted ${formatExact(row.liftedAt)}`}: {row.reason}
          </p>
          {row.liftedAt === null && (row.endsAt ?? now + 1) > now && (
            <form class="up2" method="post" action={`${personPath(name)}/bans/${row.id}/lift`}>
              <Submit>Lift {row.kind}</Submit>
            </form>
          )}
        </li>
      ))}
    </ul>
  </Block>
)

const Section: FC<{ title: string; action: string; button: string; children?: unknown }> = (
  props,
) => (
  <Block title={props.title}>
    <form class="form" method="post" action={props.action}>
      {props.children}
      <div>
        <Submit>{props.button}</Submit>
      </div>
    </form>
  </Block>
)

const RoleForm: FC<{ account: AccountRow }> = ({ account: { name, role } }) => (
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
const ModeratorForm: FC<{ account: AccountRow }> = ({ account }) => {
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

const BanForm: FC<{ name: string }> = ({ name }) => {
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

const DisableForm: FC<{ account: AccountRow }> = ({ account }) =>
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

const RenameForm: FC<{ name: string }> = ({ name }) => (
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

const DeleteForm: FC<{ name: string }> = ({ name }) => {
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

interface SignInsProps {
  frame: Frame
  account: AccountRow
  passkeys: readonly PasskeyRow[]
  identities: readonly IdentityRow[]
}

/** Lists the passkeys and linked accounts of an account, each with a button that ends it. */
const SignIns: FC<SignInsProps> = ({ frame, account: { name }, passkeys, identities }) => (
  <Block title="Passkeys and linked accounts">
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
  </Block>
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
      <LinkOrigin linkBy={row.linkBy?.name ?? null} />
    </div>
    <form class="up2" method="post" action={action}>
      <Submit>
        Delete<span class="vh"> {row.label}</span>
      </Submit>
    </form>
  </li>
)

type InvitationField = 'role' | 'expires_in_days' | 'note' | 'address'
interface InvitationFacts {
  form: FormState<InvitationField>
  /** The link of the invitation that was just made; it is shown once. */
  url: string | null
  /** The address that its link is mailed to. */
  mailedTo?: string
}

const invitationForm: FormDefinition<InvitationField> = {
  rejected: 'The invitation was not created.',
  fields: {
    role: {},
    expires_in_days: { parse: Number, message: 'Enter 1 to 90 days.' },
    note: { message: 'The note can have at most 200 characters.' },
    address: { message: 'Enter a mail address, such as ana@example.com, or nothing.' },
  },
}

interface InvitationBlockProps {
  /** Whether the hub sends mail. */
  hasMail: boolean
  frame: Frame
  invitations: InvitationRow[]
  invitation: InvitationFacts
}

/** Form that invites a person, and the last invitations. */
const InvitationBlock: FC<InvitationBlockProps> = (props) => {
  const { frame, invitations, invitation, hasMail } = props
  const { form, url, mailedTo } = invitation
  return (
    <section class="block" id="invite">
      <h2>Invite a person</h2>
      <ErrorSummary problem={form.problem} />
      {url !== null && (
        <div class="form up3">
          <label for="link">Invitation link, shown only now</label>
          <input id="link" type="text" readonly value={url} data-copy="invitation link" />
          <p class="meta">
            Send it to one person. It works once.
            {isLoopback(url) &&
              ' It opens on this machine only, until others can reach the hub: see docs/operating.md.'}
          </p>
        </div>
      )}
      {mailedTo !== undefined && (
        <p class="up3" role="status">
          The invitation is sent to {mailedTo}. <a href="/admin/mail">Last messages</a>
        </p>
      )}
      <form class="filter up3" method="post" action="/admin/people/invitations">
        <FormKey />
        <Field
          form={form}
          as="select"
          name="role"
          label="Role"
          id="invite-role"
          options={roleLabels}
        />
        <Field
          form={form}
          name="expires_in_days"
          label="Days until it expires"
          type="number"
          min="1"
          max="90"
          required
        />
        <Field form={form} name="note" label="Note, for admins only" autocomplete="off" />
        {hasMail && (
          <Field
            form={form}
            name="address"
            type="email"
            label="Mail the link to"
            autocomplete="off"
          />
        )}
        <Submit isMain>Create link</Submit>
      </form>
      {invitations.length > 0 && (
        <details class="up4">
          <summary>Latest invitations</summary>
          <InvitationTable rows={invitations} now={frame.now} />
        </details>
      )}
    </section>
  )
}

const isLoopback = (url: string): boolean =>
  ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname)

const InvitationTable: FC<{ rows: InvitationRow[]; now: number }> = ({ rows, now }) => (
  <table class="tbl fold">
    <TableHead columns={['Note', 'Role', 'By', 'Expires', 'State']} />
    <tbody>
      {rows.map((row) => {
        const state = findInvitationState(row, now)
        return (
          <tr>
            <td>{row.note || 'None'}</td>
            <td data-l="Role">{roleLabels[row.role]}</td>
            <td data-l="By">{row.createdBy.name}</td>
            <td data-l="Expires">{formatExact(row.expiresAt)}</td>
            <td data-l="State">
              {invitationLabels[state]}
              {row.usedBy !== null && ` by ${row.usedBy.name}`}
              {state === 'open' && (
                <form method="post" action={`/admin/people/invitations/${row.id}/withdraw`}>
                  <Submit>Withdraw</Submit>
                </form>
              )}
            </td>
          </tr>
        )
      })}
    </tbody>
    <caption class="vh">Invitations, newest first</caption>
  </table>
)

const stateLabels: Readonly<Record<AccountState, string>> = {
  active: 'Active',
  disabled: 'Disabled',
  banned: 'Banned',
  muted: 'Muted',
  pending: 'Not claimed yet',
  deleted: 'Deleted',
}

const invitationLabels: Readonly<Record<InvitationState, string>> = {
  open: 'Open',
  used: 'Used',
  withdrawn: 'Withdrawn',
  expired: 'Expired',
}

const personPath = (name: string): string => `/admin/people/${encodeURIComponent(name)}`
