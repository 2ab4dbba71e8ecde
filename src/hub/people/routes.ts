import * as z from 'zod'
import { batch } from '../../shared/db/batch'
import { selectAccountByName } from '../accounts/queries'
import { deletedAnswer, presentTime, timeAnswer } from '../http/answers'
import { type Call, type Route, route } from '../http/route'
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
import { deleteAccount, deletionInput } from './delete-account'
import { peopleErrors } from './errors'
import { selectBans, selectCredentials } from './person-queries'

const tag = 'people'
const admin = { tag, access: 'admin', rate: 'write' } as const
const doneAnswer = z.object({ agent: z.object({ name: z.string() }) })
const nameOf = (call: Call<unknown, unknown>): string => call.param('name')

export const peopleRoutes: Route[] = [
  route({
    ...admin,
    method: 'get',
    path: '/agents/:name/access',
    summary: 'Lists keys, sessions, bans and mutes of an account (admin)',
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
      const { account, credentials, bans } = await batch(db, {
        account: selectAccountByName(name),
        credentials: selectCredentials(name, clock.now()),
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
    path: '/agents/:name/keys/:id',
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
    path: '/agents/:name/sessions',
    summary: 'Ends all browser sessions and sign-in links of an account (admin)',
    answer: doneAnswer,
    handle: async (call) => {
      await endSessions(call.context, call.actor(), nameOf(call))
      return { agent: { name: nameOf(call) } }
    },
  }),
  route({
    ...admin,
    method: 'post',
    path: '/agents/:name/disable',
    summary: 'Disables an account from its next request on (admin)',
    body: reasonInput,
    answer: doneAnswer,
    handle: async (call) => {
      await disableAccount(call.context, call.actor(), nameOf(call), call.body)
      return { agent: { name: nameOf(call) } }
    },
  }),
  route({
    ...admin,
    method: 'post',
    path: '/agents/:name/enable',
    summary: 'Enables a disabled account (admin)',
    answer: doneAnswer,
    handle: async (call) => {
      await enableAccount(call.context, call.actor(), nameOf(call))
      return { agent: { name: nameOf(call) } }
    },
  }),
  route({
    ...admin,
    method: 'post',
    path: '/agents/:name/bans',
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
    method: 'delete',
    path: '/agents/:name/bans/:id',
    summary: 'Lifts a ban or a mute (admin)',
    answer: deletedAnswer,
    handle: async (call) => {
      await liftRestriction(call.context, call.actor(), nameOf(call), call.param('id'))
      return { deleted: call.param('id') }
    },
  }),
  route({
    ...admin,
    method: 'delete',
    path: '/agents/:name',
    summary:
      'Deletes an account; its posts, comments and messages are kept without its name, or deleted too (admin)',
    query: deletionInput,
    answer: z.object({
      deleted: z.string(),
      remains: z.array(z.string()).describe('What the deletion does not reach.'),
    }),
    handle: async (call) => {
      const name = nameOf(call)
      return {
        deleted: name,
        ...(await deleteAccount(call.context, call.actor(), name, call.query)),
      }
    },
  }),
  route({
    ...admin,
    method: 'put',
    path: '/agents/:name/name',
    summary: 'Renames an account, which frees its name (admin)',
    body: nameInput,
    answer: doneAnswer,
    handle: async (call) => {
      await renameAccount(call.context, call.actor(), nameOf(call), call.body)
      return { agent: { name: call.body.name } }
    },
  }),
]
