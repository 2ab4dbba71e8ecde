import * as z from 'zod'
import { batch } from '../../shared/db/batch'
import { knownFields } from '../../shared/known-fields'
import { selectAccountByName } from '../accounts/queries'
import { deletedAnswer, presentTime, timeAnswer } from '../http/answers'
import { presenterOf } from '../http/presenter'
import { type Call, presentIdempotent, type Route, route } from '../http/route'
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
} from './actions'
import { createLinkFor } from './create-link'
import { deleteAsOwner, deletionInput } from './delete-account'
import { peopleErrors } from './errors'
import {
  type IdentityRow,
  type PasskeyRow,
  selectBans,
  selectCredentials,
  selectIdentitiesOf,
  selectPasskeysOf,
} from './person-queries'
import { revokeSignIn } from './revoke-sign-in'

const tag = 'people'
const admin = { tag, access: 'admin', rate: 'write' } as const
const doneAnswer = z.object({ account: z.object({ name: z.string() }) })
const nameOf = (call: Call<unknown, unknown>): string => call.param('name')

const signInFields = {
  id: z.string(),
  label: z.string(),
  created_at: timeAnswer,
  last_used_at: timeAnswer.nullable(),
  link_by: z
    .string()
    .nullable()
    .describe(
      'Who created the sign-in link of the session that added it; null for another session.',
    ),
}

const presentSignIn = presenterOf(z.object(signInFields)).from<PasskeyRow | IdentityRow>({})

/** Routes that end a way to sign in. */
const revokeRoutes = [
  { kind: 'passkey', list: 'passkeys', what: 'Deletes a passkey of an account' },
  { kind: 'identity', list: 'identities', what: 'Unlinks an account at another service' },
] as const satisfies object[]

const linkRoute = route({
  ...admin,
  method: 'post',
  path: '/sessions/link',
  summary:
    'Creates a sign-in link, which opens one browser session; its account is notified (admin)',
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
      ...admin,
      method: 'delete',
      path: `/accounts/:name/${list}/:id`,
      summary: `${what}, and ends the sessions opened with it (admin)`,
      answer: deletedAnswer,
      handle: async (call) => {
        const id = call.param('id')
        await revokeSignIn(call.context, call.actor(), nameOf(call), { kind, id })
        return { deleted: id }
      },
    }),
  ),
  route({
    ...admin,
    method: 'get',
    path: '/accounts/:name/access',
    summary:
      'Lists keys, sessions, passkeys, linked accounts, bans and mutes of an account (admin)',
    rate: 'read',
    answer: z.object({
      credentials: z.array(
        z.object({
          id: z.string(),
          kind: z.enum(['key', 'session', 'link', 'service']),
          label: z.string(),
          scopes: z.array(z.string()),
          created_at: timeAnswer,
          expires_at: timeAnswer.nullable(),
          last_used_at: timeAnswer.nullable(),
        }),
      ),
      passkeys: z.array(
        z.object({ ...signInFields, domain: z.string().describe('Where it works.') }),
      ),
      identities: z.array(z.object({ ...signInFields, issuer: z.string() })),
      bans: z.array(
        z.object({
          id: z.string(),
          kind: z.enum(['ban', 'mute']),
          reason: z.string(),
          by: z.string(),
          created_at: timeAnswer,
          ends_at: timeAnswer.nullable(),
          lifted_at: timeAnswer.nullable(),
        }),
      ),
    }),
    handle: async (call) => {
      const { db, clock } = call.context
      const name = nameOf(call)
      const { account, credentials, passkeys, identities, bans } = await batch(db, {
        account: selectAccountByName(name),
        credentials: selectCredentials(name, clock.now()),
        passkeys: selectPasskeysOf(name),
        identities: selectIdentitiesOf(name),
        bans: selectBans(name),
      })
      if (!account) throw peopleErrors.notFound()
      return {
        credentials: credentials.map((row) => ({
          id: row.id,
          kind: row.kind,
          label: row.label,
          scopes: row.scopes,
          created_at: presentTime(row.createdAt),
          expires_at: presentTime(row.expiresAt),
          last_used_at: presentTime(row.lastUsedAt),
        })),
        passkeys: passkeys.map((row) => ({ ...presentSignIn(row), domain: row.rpId })),
        identities: identities.map((row) => ({ ...presentSignIn(row), issuer: row.issuer })),
        bans: bans.map((row) => ({
          id: row.id,
          kind: row.kind,
          reason: row.reason,
          by: row.by,
          created_at: presentTime(row.createdAt),
          ends_at: presentTime(row.endsAt),
          lifted_at: presentTime(row.liftedAt),
        })),
      }
    },
  }),
  route({
    ...admin,
    method: 'delete',
    path: '/accounts/:name/keys/:id',
    summary: 'Revokes a key of an account with the sessions opened with it, or one session (admin)',
    answer: deletedAnswer,
    handle: async (call) => {
      await revokeAccountKey(call.context, call.actor(), nameOf(call), call.param('id'))
      return { deleted: call.param('id') }
    },
  }),
  route({
    ...admin,
    method: 'delete',
    path: '/accounts/:name/sessions',
    summary: 'Ends all browser sessions and sign-in links of an account (admin)',
    answer: doneAnswer,
    handle: async (call) => {
      await endSessions(call.context, call.actor(), nameOf(call))
      return { account: { name: nameOf(call) } }
    },
  }),
  route({
    ...admin,
    method: 'post',
    path: '/accounts/:name/disable',
    summary: 'Disables an account from its next request on (admin)',
    body: reasonInput,
    answer: doneAnswer,
    handle: async (call) => {
      await disableAccount(call.context, call.actor(), nameOf(call), call.body)
      return { account: { name: nameOf(call) } }
    },
  }),
  route({
    ...admin,
    method: 'post',
    path: '/accounts/:name/enable',
    summary: 'Enables a disabled account (admin)',
    answer: doneAnswer,
    handle: async (call) => {
      await enableAccount(call.context, call.actor(), nameOf(call))
      return { account: { name: nameOf(call) } }
    },
  }),
  route({
    ...admin,
    method: 'post',
    path: '/accounts/:name/bans',
    summary: 'Bans an account from the hub, or mutes it, with a reason and an end (admin)',
    status: 201,
    body: banInput,
    answer: z.object({ ban: z.object({ id: z.string() }) }),
    handle: async (call) => ({
      ban: { id: await restrictAccount(call.context, call.actor(), nameOf(call), call.body) },
    }),
  }),
  route({
    ...admin,
    method: 'post',
    path: '/accounts/:name/bans/:id/lift',
    summary: 'Lifts a ban or a mute (admin)',
    answer: z.object({ ban: z.object({ id: z.string() }) }),
    handle: async (call) => {
      const done = await liftRestriction(call.context, call.actor(), nameOf(call), call.param('id'))
      return presentIdempotent(call, done, (id) => ({ ban: { id } }))
    },
  }),
  route({
    tag,
    access: 'write',
    rate: 'write',
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
    ...admin,
    method: 'put',
    path: '/accounts/:name/name',
    summary: 'Renames an account, which frees its name (admin)',
    body: nameInput,
    answer: doneAnswer,
    handle: async (call) => {
      await renameAccount(call.context, call.actor(), nameOf(call), call.body)
      return { account: { name: call.body.name } }
    },
  }),
]
