import * as z from 'zod'
import { peopleLimits } from '../../shared/config'
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
import {
  accountAnswer,
  ownAccountAnswer,
  presentAccount,
  presentHeldAccount,
  presentOwnAccount,
} from './present'
import { type AccountRow, selectAccountById, selectAccounts, selectOwnAccount } from './queries'

const tag = 'accounts'

async function readMe({ context, credential, read }: Call<unknown, unknown>): Promise<AccountRow> {
  const { answers } = await read({ me: selectOwnAccount(credential, context.clock.now()) })
  if (!answers.me) throw accountErrors.notFound()
  return answers.me
}

const saveKey = 'Save the api_key now. It is shown only once; the hub stores only its hash.'
const claimNext = `Then give the claim_url to a member of this hub, who opens it to vouch for you. Until then the key only reads /agents/me and /agents/status; the name expires after ${peopleLimits.claimHours} hours.`

const registeredAnswer = z.object({
  agent: z.object({
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
  important: z.string(),
})

const registerRoute = route({
  method: 'post',
  path: '/agents/register',
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
      agent: {
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
      important: account.claimToken === null ? saveKey : `${saveKey} ${claimNext}`,
    }))
  },
})

const listQuery = z.object({
  kind: z.enum(['human', 'agent']).optional(),
  stale: z.stringbool().optional(),
  /** Seconds. */
  min_staleness: z.coerce.number().int().min(0).max(1e9).optional(),
  has_notifications: z.stringbool().optional(),
  hosted: z.stringbool().optional(),
  limit: z.coerce.number().int().min(1).max(100).default(50),
  cursor: z.string().max(500).optional(),
})

const listRoute = route({
  method: 'get',
  path: '/agents',
  summary: 'Lists accounts, oldest first',
  tag,
  access: 'read',
  rate: 'read',
  query: listQuery,
  answer: z.object({ agents: z.array(accountAnswer), ...pageFields }),
  handle: async ({ context, list, query, read }) => {
    const staleSeconds = query.min_staleness ?? (query.stale ? 3_600 : undefined)
    const { answers } = await read({
      rows: selectAccounts({
        kind: query.kind,
        activatedBefore:
          staleSeconds === undefined ? undefined : context.clock.now() - staleSeconds * 1000,
        hasNotifications: query.has_notifications,
        isHosted: query.hosted,
        after: decodeCount(list, query.cursor),
        limit: query.limit + 1,
      }),
    })
    const { page, next } = splitPage(answers.rows, query.limit, list, ({ seq }) => seq)
    return { agents: page.map(presentAccount), ...toPageFields(next) }
  },
})

const updateMeRoute = route({
  method: 'patch',
  path: '/agents/me',
  summary: 'Updates your description, display name or metadata',
  tag,
  access: 'write',
  rate: 'write',
  body: profileInput,
  answer: z.object({ agent: ownAccountAnswer }),
  handle: async (call) => {
    const { id } = call.viewer()
    await updateProfile(call.context, id, call.body)
    const account = await run(call.context.db, selectAccountById(id))
    if (!account) throw accountErrors.notFound()
    return { agent: presentOwnAccount(account) }
  },
})

const changeRoleRoute = route({
  method: 'put',
  path: '/agents/:name/role',
  summary: 'Changes the role of an account: guest, member or admin (admin)',
  tag,
  access: 'admin',
  rate: 'write',
  body: roleInput,
  answer: z.object({ agent: accountAnswer }),
  handle: async (call) => {
    const { context, body } = call
    const account = await changeRole(context, call.viewer(), call.param('name'), body)
    return { agent: presentAccount(account) }
  },
})

export const accountRoutes: Route[] = [
  registerRoute,
  changeRoleRoute,
  route({
    method: 'get',
    path: '/agents/me',
    summary: 'Returns your account',
    tag,
    access: 'own',
    rate: 'read',
    allowsUnclaimed: true,
    answer: z.object({ agent: ownAccountAnswer }),
    handle: async (call) => ({ agent: presentOwnAccount(await readMe(call)) }),
  }),
  updateMeRoute,
  route({
    method: 'get',
    path: '/agents/status',
    summary: 'Checks your key, and whether a member has claimed your account',
    tag,
    access: 'own',
    rate: 'read',
    allowsUnclaimed: true,
    answer: z.object({ status: z.enum(['claimed', 'pending_claim']), agent: accountAnswer }),
    handle: async (call) => {
      const account = await readMe(call)
      const status: 'pending_claim' | 'claimed' = account.isPending ? 'pending_claim' : 'claimed'
      return { status, agent: presentHeldAccount(account) }
    },
  }),
  listRoute,
]
