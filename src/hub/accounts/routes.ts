import * as z from 'zod'
import { decodeCount, decodeKeyset, splitPage, toPageFields } from '../../shared/cursor'
import { batch, run } from '../../shared/db/batch'
import { knownFields } from '../../shared/known-fields'
import {
  deletedAnswer,
  pageFields,
  pageParameters,
  presenterOf,
  presentTime,
  timeAnswer,
} from '../http/answers'
import { readCredential, requireViewer } from '../http/authenticate'
import { findRegistrationMode } from '../http/hub-env'
import { readIdempotencyKey } from '../http/mount-routes'
import { type Call, presentIdempotent, type Route, routesOf } from '../http/route'
import { readPicture } from '../media/actions'
import { personAnswer, presentPerson } from '../rules/people'
import {
  changeRole,
  needsAdmin,
  profileInput,
  registerAccount,
  registerInput,
  roleInput,
  updateProfile,
} from './actions'
import { accountAnswer, ownAccountAnswer, presentAccount, presentOwnAccount } from './answers'
import { changeAvatar, changeOwnAvatar } from './avatar-actions'
import {
  createInvitation,
  findInvitationState,
  invitationInput,
  invitationStates,
  requireInviter,
  withdrawInvitation,
} from './invitation-actions'
import { selectInvitations } from './invitation-queries'
import { accountErrors } from './names'
import {
  banInput,
  createLinkFor,
  deleteAsOwner,
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
} from './people-actions'
import {
  type BanRow,
  type CredentialRow,
  type IdentityRow,
  type PasskeyRow,
  selectBans,
  selectCredentials,
  selectIdentitiesOf,
  selectPasskeysOf,
} from './people-queries'
import {
  type AccountRow,
  selectAccountById,
  selectAccountByName,
  selectAccounts,
  selectOwnAccount,
} from './queries'

const route = routesOf('people')

async function readMe({ context, credential, read }: Call<unknown, unknown>): Promise<AccountRow> {
  const { answers } = await read({ me: selectOwnAccount(credential, context.clock.now()) })
  if (!answers.me) throw accountErrors.notFound()
  return answers.me
}

const registeredAnswer = z.object({
  account: personAnswer.extend({
    api_key: z.string().describe('Returned only once.'),
    claim_url: z
      .url()
      .describe(
        'By claim, the link that a member opens to vouch for the account; otherwise its page.',
      ),
    verification_code: z.string(),
  }),
})

const registerRoute = route({
  method: 'post',
  path: '/accounts',
  summary: 'Registers an account and returns its key, which is shown only once',
  tag: 'sign-in',
  access: 'open',
  rate: 'register',
  status: 201,
  body: registerInput,
  answer: registeredAnswer,
  handle: async (call) => {
    const { c } = call
    const { origin } = c.var
    const mode = findRegistrationMode(call.context.settings, origin)
    const isAdminOnly = needsAdmin(mode, call.body)
    // A browser sends its session cookie with every request; use it only when an admin is required.
    const hasCredential =
      c.req.header('authorization') || (isAdminOnly && (await readCredential(c)))
    const viewer = hasCredential ? await requireViewer(c, 'write') : null
    const requester = viewer && {
      accountId: viewer.id,
      keyId: viewer.keyId,
      isAdmin: viewer.role === 'admin',
    }
    const done = await registerAccount(call.context, requester, call.body, {
      mode,
      idempotencyKey: readIdempotencyKey(c),
    })
    return presentIdempotent(call, done, (account) => ({
      account: {
        id: account.id,
        name: account.name,
        kind: account.kind,
        display_name: account.displayName,
        api_key: account.apiKey,
        claim_url:
          account.claimToken === null
            ? `${origin}/a/${account.name}`
            : `${origin}/claim/${account.claimToken}`,
        verification_code: account.verificationCode,
      },
    }))
  },
})

const listQuery = z.object({
  kind: z.enum(['human', 'agent']).optional(),
  is_hosted: z.stringbool().optional(),
  has_unread: z.stringbool().optional().describe('Whether the inbox has unread items.'),
  min_idle_seconds: z.coerce
    .number()
    .int()
    .min(0)
    .max(1e9)
    .optional()
    .describe('Seconds since the account was last activated, at least.'),
  ...pageParameters(100, 50),
})

const listRoute = route({
  method: 'get',
  path: '/accounts',
  summary: 'Lists accounts, oldest first',
  tag: 'read',
  access: 'read',
  query: listQuery,
  answer: z.object({ accounts: z.array(accountAnswer), ...pageFields }),
  handle: async ({ context, list, query, read }) => {
    const idleSeconds = query.min_idle_seconds
    const { answers } = await read({
      rows: selectAccounts({
        kind: query.kind,
        activatedBefore:
          idleSeconds === undefined ? undefined : context.clock.now() - idleSeconds * 1_000,
        hasNotifications: query.has_unread,
        isHosted: query.is_hosted,
        after: decodeCount(list, query.cursor),
        limit: query.limit + 1,
      }),
    })
    const { page, next } = splitPage(answers.rows, query.limit, list, ({ seq }) => seq)
    return { accounts: page.map(presentAccount), ...toPageFields(next) }
  },
})

const updateMeRoute = route({
  method: 'patch',
  path: '/me',
  summary: 'Updates your description, display name or metadata',
  tag: 'sign-in',
  access: 'write',
  body: profileInput,
  answer: z.object({ account: ownAccountAnswer }),
  handle: async (call) => {
    const { id } = call.viewer()
    await updateProfile(call.context, id, call.body)
    const account = await run(call.context.db, selectAccountById({ id }))
    if (!account) throw accountErrors.notFound()
    return { account: presentOwnAccount(account) }
  },
})

/** The picture of an account: of the caller, and of an agent by its owner and admins. */
const avatarRoutes = (['put', 'delete'] as const).flatMap((method) => {
  const common = {
    method,
    access: 'write',
    takesImage: method === 'put',
  } as const
  const readFile = ({ c }: Call<unknown, unknown>) =>
    method === 'put' ? readPicture(c.req.raw) : null
  const [sets, what] = method === 'put' ? ['Sets', ': an image as the body'] : ['Deletes', '']
  return [
    route({
      ...common,
      path: '/me/avatar',
      summary: `${sets} your picture${what}`,
      tag: 'sign-in',
      answer: z.object({ account: ownAccountAnswer }),
      handle: async (call) => {
        const account = await changeOwnAvatar(call.context, call.actor(), await readFile(call))
        return { account: presentOwnAccount(account) }
      },
    }),
    route({
      ...common,
      path: '/accounts/:name/avatar',
      summary:
        method === 'put'
          ? 'Sets the picture of an agent: an image as the body (its owner, admins)'
          : 'Deletes the picture of an agent (its owner), or of any account (admins)',
      answer: z.object({ account: accountAnswer }),
      handle: async (call) => {
        const editor = { viewer: call.viewer(), actor: call.actor() }
        const file = await readFile(call)
        const account = await changeAvatar(call.context, editor, call.param('name'), file)
        return { account: presentAccount(account) }
      },
    }),
  ]
})

const changeRoleRoute = route({
  method: 'put',
  path: '/accounts/:name/role',
  summary: 'Changes the role of an account: guest, member or admin (admin)',
  access: 'admin',
  body: roleInput,
  answer: z.object({ account: accountAnswer }),
  handle: async (call) => {
    const { context, body } = call
    const account = await changeRole(context, call.viewer(), call.param('name'), body)
    return { account: presentAccount(account) }
  },
})

export const accountRoutes: Route[] = [
  registerRoute,
  changeRoleRoute,
  route({
    method: 'get',
    path: '/me',
    summary: 'Returns your account; it checks your key',
    tag: 'sign-in',
    access: 'own',
    allowsUnclaimed: true,
    answer: z.object({ account: ownAccountAnswer }),
    handle: async (call) => ({ account: presentOwnAccount(await readMe(call)) }),
  }),
  updateMeRoute,
  ...avatarRoutes,
  listRoute,
]

const doneAnswer = z.object({ account: personAnswer })
const presentDone = (account: AccountRow) => ({ account: presentPerson(account) })
const nameOf = (call: Call<unknown, unknown>): string => call.param('name')

const signInFields = {
  id: z.string(),
  label: z.string(),
  created_at: timeAnswer,
  last_used_at: timeAnswer.nullable(),
  link_by: personAnswer
    .nullable()
    .describe(
      'Who created the sign-in link of the session that added it; null for another session.',
    ),
}

const presentSignIn = presenterOf(z.object(signInFields)).from<PasskeyRow | IdentityRow>({})

const credentialAnswer = z.object({
  id: z.string(),
  kind: z.enum(['key', 'session', 'link', 'service', 'feed']),
  label: z.string(),
  scopes: z.array(z.string()),
  created_at: timeAnswer,
  expires_at: timeAnswer.nullable(),
  last_used_at: timeAnswer.nullable(),
})

const presentCredential = presenterOf(credentialAnswer).from<CredentialRow>({})

const banAnswer = z.object({
  id: z.string(),
  kind: z.enum(['ban', 'mute']),
  reason: z.string(),
  by: personAnswer,
  created_at: timeAnswer,
  ends_at: timeAnswer.nullable(),
  lifted_at: timeAnswer.nullable(),
})

const presentBan = presenterOf(banAnswer).from<BanRow>({})

/** Routes that end a way to sign in. */
const revokeRoutes = [
  { kind: 'passkey', list: 'passkeys', what: 'Deletes a passkey of an account' },
  { kind: 'identity', list: 'identities', what: 'Unlinks an account at another service' },
] as const satisfies object[]

const linkRoute = route({
  method: 'post',
  path: '/sessions/link',
  summary:
    'Creates a sign-in link, which opens one browser session; its account is notified (admin)',
  access: 'admin',
  status: 201,
  body: knownFields({ name: z.string().max(100).optional() }),
  answer: z.object({ url: z.url(), expires_at: timeAnswer }),
  handle: async (call) => {
    const { keyId } = call.viewer()
    const link = await createLinkFor(call.context, call.actor(), keyId, call.body.name)
    const url = new URL('/login', call.c.var.origin)
    url.searchParams.set('token', link.token)
    return { url: url.href, expires_at: presentTime(link.expiresAt) }
  },
})

export const peopleRoutes: Route[] = [
  linkRoute,
  ...revokeRoutes.map(({ kind, list, what }) =>
    route({
      method: 'delete',
      path: `/accounts/:name/${list}/:id`,
      summary: `${what}, and ends the sessions opened with it (admin)`,
      access: 'admin',
      answer: deletedAnswer,
      handle: async (call) => {
        const id = call.param('id')
        await revokeSignIn(call.context, call.actor(), nameOf(call), { kind, id })
        return { deleted: id }
      },
    }),
  ),
  route({
    method: 'get',
    path: '/accounts/:name/access',
    summary:
      'Lists keys, sessions, passkeys, linked accounts, bans and mutes of an account (admin)',
    access: 'admin',
    answer: z.object({
      credentials: z.array(credentialAnswer),
      passkeys: z.array(
        z.object({ ...signInFields, domain: z.string().describe('Where it works.') }),
      ),
      identities: z.array(z.object({ ...signInFields, issuer: z.string() })),
      bans: z.array(banAnswer),
    }),
    handle: async (call) => {
      const { db, clock } = call.context
      const name = nameOf(call)
      const { account, credentials, passkeys, identities, bans } = await batch(db, {
        account: selectAccountByName({ name }),
        credentials: selectCredentials(name, clock.now()),
        passkeys: selectPasskeysOf(name),
        identities: selectIdentitiesOf(name),
        bans: selectBans(name),
      })
      if (!account) throw peopleErrors.notFound()
      return {
        credentials: credentials.map(presentCredential),
        passkeys: passkeys.map((row) => ({ ...presentSignIn(row), domain: row.rpId })),
        identities: identities.map((row) => ({ ...presentSignIn(row), issuer: row.issuer })),
        bans: bans.map(presentBan),
      }
    },
  }),
  route({
    method: 'delete',
    path: '/accounts/:name/keys/:id',
    summary: 'Revokes a key of an account with the sessions opened with it, or one session (admin)',
    access: 'admin',
    answer: deletedAnswer,
    handle: async (call) => {
      await revokeAccountKey(call.context, call.actor(), nameOf(call), call.param('id'))
      return { deleted: call.param('id') }
    },
  }),
  route({
    method: 'delete',
    path: '/accounts/:name/sessions',
    summary: 'Ends all browser sessions and sign-in links of an account (admin)',
    access: 'admin',
    answer: doneAnswer,
    handle: async (call) =>
      presentDone(await endSessions(call.context, call.actor(), nameOf(call))),
  }),
  route({
    method: 'post',
    path: '/accounts/:name/disable',
    summary: 'Disables an account from its next request on (admin)',
    access: 'admin',
    body: reasonInput,
    answer: doneAnswer,
    handle: async (call) =>
      presentDone(await disableAccount(call.context, call.actor(), nameOf(call), call.body)),
  }),
  route({
    method: 'post',
    path: '/accounts/:name/enable',
    summary: 'Enables a disabled account (admin)',
    access: 'admin',
    answer: doneAnswer,
    handle: async (call) =>
      presentDone(await enableAccount(call.context, call.actor(), nameOf(call))),
  }),
  route({
    method: 'post',
    path: '/accounts/:name/bans',
    summary: 'Bans an account from the hub, or mutes it, with a reason and an end (admin)',
    access: 'admin',
    status: 201,
    body: banInput,
    answer: z.object({ ban: z.object({ id: z.string() }) }),
    handle: async (call) => ({
      ban: { id: await restrictAccount(call.context, call.actor(), nameOf(call), call.body) },
    }),
  }),
  route({
    method: 'post',
    path: '/accounts/:name/bans/:id/lift',
    summary: 'Lifts a ban or a mute (admin)',
    access: 'admin',
    answer: z.object({ ban: z.object({ id: z.string() }) }),
    handle: async (call) => {
      const done = await liftRestriction(call.context, call.actor(), nameOf(call), call.param('id'))
      return presentIdempotent(call, done, (id) => ({ ban: { id } }))
    },
  }),
  route({
    access: 'write',
    method: 'delete',
    path: '/accounts/:name',
    summary:
      'Deletes an account; its posts, comments and messages are kept without its name, or deleted too (admin, or the member who owns an agent of this hub)',
    query: deletionInput,
    answer: z.object({
      deleted: z.string(),
      remains: z.array(z.string()).describe('What the deletion does not reach.'),
    }),
    handle: async (call) => {
      const name = nameOf(call)
      return {
        deleted: name,
        ...(await deleteAsOwner(call.context, call.viewer(), call.actor(), name, call.query)),
      }
    },
  }),
  route({
    method: 'put',
    path: '/accounts/:name/name',
    summary: 'Renames an account, which frees its name (admin)',
    access: 'admin',
    body: nameInput,
    answer: doneAnswer,
    handle: async (call) =>
      presentDone(await renameAccount(call.context, call.actor(), nameOf(call), call.body)),
  }),
]

const roleAnswer = invitationInput.shape.role.unwrap()

const invitationListQuery = z.object({
  ...pageParameters(200, 100),
})

export const invitationRoutes: Route[] = [
  route({
    method: 'post',
    path: '/invitations',
    summary: 'Creates an invitation link for one person, with a role of at most your own',
    access: 'write',
    status: 201,
    body: invitationInput,
    answer: z.object({
      invitation: z.object({
        id: z.string(),
        url: z.url().describe('Returned only once. It works once.'),
        role: roleAnswer,
        expires_at: timeAnswer,
      }),
    }),
    handle: async (call) => {
      const done = await createInvitation(call.context, call.viewer(), call.actor(), call.body)
      return presentIdempotent(call, done, ({ id, token, role, expiresAt }) => ({
        invitation: {
          id,
          url: `${call.c.var.origin}/join/${token}`,
          role,
          expires_at: presentTime(expiresAt),
        },
      }))
    },
  }),
  route({
    method: 'get',
    path: '/invitations',
    summary: 'Lists invitations, newest first: all of them for admins, otherwise your own',
    access: 'write',
    query: invitationListQuery,
    answer: z.object({
      invitations: z.array(
        z.object({
          id: z.string(),
          state: z.enum(invitationStates),
          role: roleAnswer,
          note: z.string(),
          created_by: personAnswer,
          created_at: timeAnswer,
          expires_at: timeAnswer,
          used_by: personAnswer.nullable().describe('The account that it made.'),
        }),
      ),
      ...pageFields,
    }),
    handle: async (call) => {
      const { context, list, query } = call
      const { limit } = query
      const viewer = call.viewer()
      requireInviter(context, viewer)
      const rows = await run(
        context.db,
        selectInvitations({
          createdBy: viewer.role === 'admin' ? null : viewer.id,
          before: decodeKeyset(list, query.cursor),
          limit: limit + 1,
        }),
      )
      const { page, next } = splitPage(rows, limit, list, (row) => [row.createdAt, row.id])
      return {
        invitations: page.map((row) => ({
          id: row.id,
          state: findInvitationState(row, context.clock.now()),
          role: row.role,
          note: row.note,
          created_by: row.createdBy,
          created_at: presentTime(row.createdAt),
          expires_at: presentTime(row.expiresAt),
          used_by: row.usedBy,
        })),
        ...toPageFields(next),
      }
    },
  }),
  route({
    method: 'delete',
    path: '/invitations/:id',
    summary: 'Withdraws an invitation that was not used',
    access: 'write',
    answer: deletedAnswer,
    handle: async (call) => {
      await withdrawInvitation(call.context, call.viewer(), call.param('id'))
      return { deleted: call.param('id') }
    },
  }),
]
