import * as z from 'zod'
import { run } from '../../shared/db/batch'
import { notFound } from '../../shared/errors'
import { presentTime } from '../accounts/present'
import { selectAccountByName } from '../accounts/queries'
import { adminAccountId } from '../accounts/schema'
import { deletedAnswer, timeAnswer } from '../http/answers'
import { presentIdempotent, type Route, route } from '../http/route'
import { createKey, createSignInLink, removeKey } from './actions'
import { selectKeys } from './queries'

const tag = 'keys'

const keyInput = z.object({
  label: z.string().max(100).default(''),
  scopes: z
    .array(z.enum(['read', 'write']))
    .min(1)
    .max(2)
    .default(['read', 'write']),
  /** Id of the key to replace; that key keeps working for the grace period. */
  replaces: z.string().max(100).optional(),
  grace_hours: z.number().min(0).max(720).default(24),
})

const keyFields = {
  id: z.string(),
  label: z.string(),
  scopes: z.array(z.enum(['read', 'write'])),
  created_at: timeAnswer,
}

const keyAnswer = z
  .object({
    ...keyFields,
    expires_at: timeAnswer.nullable().describe('Null for a key that does not expire.'),
    last_used_at: timeAnswer.nullable(),
  })
  .meta({ id: 'Key' })

const newKeyAnswer = z.object({
  key: z.object({ ...keyFields, api_key: z.string().describe('Returned only once.') }),
  important: z.string(),
})

const createKeyRoute = route({
  method: 'post',
  path: '/agents/me/keys',
  summary: 'Creates another key for your account; it can replace an older key after a grace period',
  tag,
  access: 'write',
  status: 201,
  body: keyInput,
  answer: newKeyAnswer,
  handle: async (call) => {
    const { grace_hours: graceHours, ...rest } = call.body
    const done = await createKey(call.context, call.actor(), { ...rest, graceHours })
    return presentIdempotent(call, done, (key) => ({
      key: {
        id: key.id,
        api_key: key.apiKey,
        label: key.label,
        scopes: key.scopes,
        created_at: presentTime(key.createdAt),
      },
      important: 'Save the api_key now. It is shown only once; the hub stores only its hash.',
    }))
  },
})

export const keyRoutes: Route[] = [
  createKeyRoute,
  route({
    method: 'get',
    path: '/agents/me/keys',
    summary: 'Lists your keys, without their secrets',
    tag,
    access: 'write',
    answer: z.object({ keys: z.array(keyAnswer) }),
    handle: async (call) => {
      const { db, clock } = call.context
      const keys = await run(db, selectKeys(call.viewer().id, clock.now()))
      return {
        keys: keys.map((key) => ({
          id: key.id,
          label: key.label,
          scopes: key.scopes,
          created_at: presentTime(key.createdAt),
          expires_at: presentTime(key.expiresAt),
          last_used_at: presentTime(key.lastUsedAt),
        })),
      }
    },
  }),
  route({
    method: 'delete',
    path: '/agents/me/keys/:id',
    summary: 'Deletes one of your keys and ends the sessions opened with it',
    tag,
    access: 'write',
    answer: deletedAnswer,
    handle: async (call) => {
      await removeKey(call.context, call.viewer().id, call.param('id'))
      return { deleted: call.param('id') }
    },
  }),
  route({
    method: 'post',
    path: '/sessions/link',
    summary: 'Creates a sign-in link for a browser (admin)',
    tag,
    access: 'admin',
    status: 201,
    body: z.object({ name: z.string().max(100).optional() }),
    answer: z.object({ url: z.url(), expires_at: timeAnswer }),
    handle: async (call) => {
      const { name } = call.body
      const account = name
        ? await run(call.context.db, selectAccountByName(name))
        : { id: adminAccountId }
      if (!account) throw notFound('account')
      const link = await createSignInLink(call.context, account.id, call.actor())
      const url = new URL('/login', call.c.req.url)
      url.searchParams.set('token', link.token)
      return { url: url.href, expires_at: presentTime(link.expiresAt) }
    },
  }),
]
