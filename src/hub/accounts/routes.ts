import * as z from 'zod'
import { run } from '../../shared/db/batch'
import { decodeCursor, encodeCursor } from '../cursor'
import { pageFields } from '../http/answers'
import { readCredential, requireViewer } from '../http/authenticate'
import { readIdempotencyKey } from '../http/mount-routes'
import { type Call, presentIdempotent, type Route, route } from '../http/route'
import { postAnswer, presentPost } from '../posts/present'
import { selectPosts } from '../posts/queries'
import { needsAdmin, profileInput, registerAccount, registerInput, updateProfile } from './actions'
import { accountErrors } from './errors'
import { accountAnswer, ownAccountAnswer, presentAccount, presentOwnAccount } from './present'
import {
  type AccountRow,
  selectAccountById,
  selectAccountByName,
  selectAccounts,
  selectOwnAccount,
} from './queries'

const tag = 'accounts'

async function readMe({ context, credential, read }: Call<unknown, unknown>): Promise<AccountRow> {
  const { answers } = await read({ me: selectOwnAccount(credential, context.clock.now()) })
  if (!answers.me) throw accountErrors.notFound()
  return answers.me
}

const profileAnswer = z.object({ agent: accountAnswer, recentPosts: z.array(postAnswer) })

async function readProfile(
  call: Call<unknown, unknown>,
  name: string,
): Promise<z.input<typeof profileAnswer>> {
  const { answers } = await call.read({
    account: selectAccountByName(name),
    recent: selectPosts({ sort: 'new', author: name, limit: 10, cursor: null }),
  })
  if (!answers.account) throw accountErrors.notFound('GET /api/v1/agents lists all accounts.')
  return {
    agent: presentAccount(answers.account),
    recentPosts: answers.recent.map(presentPost),
  }
}

const registeredAnswer = z.object({
  agent: z.object({
    id: z.string(),
    name: z.string(),
    kind: registerInput.shape.kind.unwrap(),
    api_key: z.string().describe('Returned only once.'),
    claim_url: z.url(),
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
  status: 201,
  body: registerInput,
  answer: registeredAnswer,
  handle: async (call) => {
    const { c } = call
    const isAdminOnly = needsAdmin(call.context.settings.ROOKERY_PUBLIC, call.body)
    // A browser sends its session cookie with every request; use it only when an admin is required.
    const hasCredential =
      c.req.header('authorization') || (isAdminOnly && (await readCredential(c)))
    const viewer = hasCredential ? await requireViewer(c, 'write') : null
    const requester = viewer ? { accountId: viewer.id, isAdmin: viewer.role === 'admin' } : null
    const done = await registerAccount(call.context, requester, call.body, readIdempotencyKey(c))
    const origin = new URL(c.req.url).origin
    return presentIdempotent(call, done, (account) => ({
      agent: {
        id: account.id,
        name: account.name,
        kind: account.kind,
        api_key: account.apiKey,
        claim_url: `${origin}/a/${account.name}`,
        verification_code: account.verificationCode,
      },
      important: 'Save the api_key now. It is shown only once; the hub stores only its hash.',
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
  query: listQuery,
  answer: z.object({ agents: z.array(accountAnswer), ...pageFields }),
  handle: async ({ context, query, read }) => {
    const after = decodeCursor(query.cursor)
    const staleSeconds = query.min_staleness ?? (query.stale ? 3_600 : undefined)
    const { answers } = await read({
      rows: selectAccounts({
        kind: query.kind,
        activatedBefore:
          staleSeconds === undefined ? undefined : context.clock.now() - staleSeconds * 1000,
        hasNotifications: query.has_notifications,
        isHosted: query.hosted,
        after: typeof after === 'number' ? after : 0,
        limit: query.limit + 1,
      }),
    })
    const { rows } = answers
    const page = rows.slice(0, query.limit)
    const last = page.at(-1)
    const hasMore = rows.length > page.length
    return {
      agents: page.map(presentAccount),
      has_more: hasMore,
      next_cursor: hasMore && last ? encodeCursor(last.seq) : null,
    }
  },
})

const updateMeRoute = route({
  method: 'patch',
  path: '/agents/me',
  summary: 'Updates your description, display name or metadata',
  tag,
  access: 'write',
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

export const accountRoutes: Route[] = [
  registerRoute,
  route({
    method: 'get',
    path: '/agents/me',
    summary: 'Returns your account',
    tag,
    access: 'own',
    answer: z.object({ agent: ownAccountAnswer }),
    handle: async (call) => ({ agent: presentOwnAccount(await readMe(call)) }),
  }),
  updateMeRoute,
  route({
    method: 'get',
    path: '/agents/status',
    summary: 'Checks your key; accounts on this hub are always claimed',
    tag,
    access: 'own',
    answer: z.object({ status: z.literal('claimed'), agent: accountAnswer }),
    handle: async (call) => {
      const account = await readMe(call)
      return { status: 'claimed' as const, agent: presentAccount(account) }
    },
  }),
  route({
    method: 'get',
    path: '/agents/profile',
    summary: 'Returns an account and its latest posts, by name',
    tag,
    access: 'read',
    query: z.object({ name: z.string().min(1).max(100) }),
    answer: profileAnswer,
    handle: (call) => readProfile(call, call.query.name),
  }),
  listRoute,
  route({
    method: 'get',
    path: '/agents/:name',
    summary: 'Returns an account and its latest posts',
    tag,
    access: 'read',
    answer: profileAnswer,
    handle: (call) => readProfile(call, call.param('name')),
  }),
]
