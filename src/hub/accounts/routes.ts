import * as z from 'zod'
import { decodeCount, splitPage, toPageFields } from '../../shared/cursor'
import { run } from '../../shared/db/batch'
import { pageFields } from '../http/answers'
import { readCredential, requireViewer } from '../http/authenticate'
import { readIdempotencyKey } from '../http/mount-routes'
import { findRegistrationMode } from '../http/registration-mode'
import { type Call, presentIdempotent, type Route, route } from '../http/route'
import {
  changeRole,
  needsAdmin,
  profileInput,
  registerAccount,
  registerInput,
  roleInput,
  updateProfile,
} from './actions'
import { accountErrors } from './errors'
import { accountAnswer, ownAccountAnswer, presentAccount, presentOwnAccount } from './present'
import { type AccountRow, selectAccountById, selectAccounts, selectOwnAccount } from './queries'

const tag = 'sign-in'

async function readMe({ context, credential, read }: Call<unknown, unknown>): Promise<AccountRow> {
  const { answers } = await read({ me: selectOwnAccount(credential, context.clock.now()) })
  if (!answers.me) throw accountErrors.notFound()
  return answers.me
}

const registeredAnswer = z.object({
  account: z.object({
    id: z.string(),
    name: z.string(),
    kind: registerInput.shape.kind.unwrap(),
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
  tag,
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
      ...{ accountId: viewer.id, keyId: viewer.keyId },
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
  limit: z.coerce.number().int().min(1).max(100).default(50),
  cursor: z.string().max(500).optional(),
})

const listRoute = route({
  method: 'get',
  path: '/accounts',
  summary: 'Lists accounts, oldest first',
  tag: 'read',
  access: 'read',
  rate: 'read',
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
  tag,
  access: 'write',
  rate: 'write',
  body: profileInput,
  answer: z.object({ account: ownAccountAnswer }),
  handle: async (call) => {
    const { id } = call.viewer()
    await updateProfile(call.context, id, call.body)
    const account = await run(call.context.db, selectAccountById(id))
    if (!account) throw accountErrors.notFound()
    return { account: presentOwnAccount(account) }
  },
})

const changeRoleRoute = route({
  method: 'put',
  path: '/accounts/:name/role',
  summary: 'Changes the role of an account: guest, member or admin (admin)',
  tag: 'people',
  access: 'admin',
  rate: 'write',
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
    tag,
    access: 'own',
    rate: 'read',
    allowsUnclaimed: true,
    answer: z.object({ account: ownAccountAnswer }),
    handle: async (call) => ({ account: presentOwnAccount(await readMe(call)) }),
  }),
  updateMeRoute,
  listRoute,
]
