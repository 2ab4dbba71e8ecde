import type { Hono } from 'hono'
import * as z from 'zod'
import { selectAccountByName } from '../../hub/accounts/queries'
import { roleLabels } from '../../hub/accounts/role-labels'
import {
  type HubEnv,
  httpErrors,
  readCredential,
  requireAdmin,
  requireViewer,
} from '../../hub/http/page-entry'
import {
  createInvitation,
  invitationInput,
  withdrawInvitation,
} from '../../hub/invitations/actions'
import { selectInvitations } from '../../hub/invitations/queries'
import { changeHubModerator } from '../../hub/moderators/actions'
import {
  banInput,
  disableAccount,
  enableAccount,
  endSessions,
  liftRestriction,
  nameInput,
  reasonInput,
  renameAccount,
  restrictAccount,
  revokeAccountKey,
} from '../../hub/people/actions'
import { deleteAccount, deletionInput } from '../../hub/people/delete-account'
import { peopleErrors } from '../../hub/people/errors'
import { accountStates, selectPeople } from '../../hub/people/list-queries'
import {
  selectBans,
  selectCredentials,
  selectFormerNames,
  selectIdentitiesOf,
  selectOrigin,
  selectPasskeysOf,
} from '../../hub/people/person-queries'
import { revokeSignIn } from '../../hub/people/revoke-sign-in'
import { peopleLimits } from '../../shared/config'
import { decodeCount, splitPage } from '../../shared/cursor'
import type { FormProblem } from '../form/form-state'
import { createForm } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { toProblem } from '../form/to-problem'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { type InvitationState, invitationForm } from './invitation-block'
import { personPath } from './people-labels'
import { PeoplePage } from './people-page'
import { PersonPage } from './person-page'

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
  })
  app.get(
    '/admin/people',
    page((c) => showPeople(c, { form: emptyInvitation, url: null })),
  )
  app.post('/admin/people/invitations', page(sendInvitation))
  app.post('/admin/people/invitations/:id/withdraw', page(sendWithdrawal))
  app.get(
    '/admin/people/:name',
    page((c) => showPerson(c, null)),
  )
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
  problem: FormProblem | null,
  status = 200,
): Promise<Response> {
  const name = c.req.param('name') ?? ''
  const { frame, answers } = await readPage(c, {
    account: selectAccountByName(name),
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
  invitation: InvitationState,
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
  const read = readFormWith(invitationInput, await readForm(c), invitationForm)
  if (!read.isValid) return showPeople(c, { form: read.form, url: null }, 400)
  try {
    const actor = await readFormActor(c, viewer)
    const { answer } = await createInvitation(c.var.context, viewer, actor, read.value)
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
