import * as z from 'zod'
import { run } from '../../shared/db/batch'
import { deletedAnswer, presenterOf, presentTime, timeAnswer } from '../http/answers'
import { presentIdempotent, type Route, routesOf } from '../http/route'
import {
  createKey,
  createServiceKey,
  keyInput,
  type NewKey,
  removeKey,
  serviceKeyInput,
} from './key-actions'
import { selectKeys } from './key-queries'

const route = routesOf('sign-in')

/** A key without its secret. */
const keyFields = {
  id: z.string(),
  label: z.string(),
  scopes: z.array(z.enum(['read', 'write'])),
  created_at: timeAnswer,
  expires_at: timeAnswer.nullable().describe('Null for a key that does not expire.'),
}

const presentKey = presenterOf(z.object(keyFields)).from<Omit<NewKey, 'apiKey'>>({})

const newKeyAnswer = z.object({
  key: z.object({ ...keyFields, api_key: z.string().describe('Returned only once.') }),
})

/** Presents a key with its secret, which is in no later answer. */
const presentNewKey = (key: NewKey): z.input<typeof newKeyAnswer> => ({
  key: { ...presentKey(key), api_key: key.apiKey },
})

const keyAnswer = z
  .object({
    ...keyFields,
    last_used_at: timeAnswer.nullable(),
  })
  .meta({ id: 'Key' })

const createKeyRoute = route({
  method: 'post',
  path: '/me/keys',
  summary:
    'Creates another key for your account, within the scopes and expiry of the key that asks; it can replace an older key after a grace period',
  access: 'write',
  status: 201,
  body: keyInput,
  answer: newKeyAnswer,
  handle: async (call) => {
    const { keyId } = call.viewer()
    const done = await createKey(call.context, call.actor(), keyId, call.body)
    return presentIdempotent(call, done, presentNewKey)
  },
})

export const keyRoutes: Route[] = [
  createKeyRoute,
  route({
    method: 'get',
    path: '/me/keys',
    summary: 'Lists your keys, without their secrets',
    access: 'write',
    answer: z.object({ keys: z.array(keyAnswer) }),
    handle: async (call) => {
      const { db, clock } = call.context
      const keys = await run(db, selectKeys(call.viewer().id, clock.now()))
      return {
        keys: keys.map((key) => ({
          ...presentKey(key),
          last_used_at: presentTime(key.lastUsedAt),
        })),
      }
    },
  }),
  route({
    method: 'delete',
    path: '/me/keys/:id',
    summary: 'Deletes one of your keys and ends the sessions opened with it',
    access: 'write',
    allowsMuted: true,
    answer: deletedAnswer,
    handle: async (call) => {
      await removeKey(call.context, call.viewer().id, call.param('id'))
      return { deleted: call.param('id') }
    },
  }),
]

/** Keys for programs that run external agents. What these send is in the dialect of existing clients. */
export const serviceKeyRoutes: Route[] = [
  route({
    method: 'post',
    path: '/accounts/:name/service-keys',
    summary:
      'Creates a service key for an external agent: it can act for other external agents by agent_id (admin). DELETE /accounts/:name/keys/:id revokes it',
    tag: 'people',
    access: 'admin',
    status: 201,
    body: serviceKeyInput,
    answer: newKeyAnswer,
    handle: async (call) => {
      const done = await createServiceKey(call.context, call.actor(), call.param('name'), call.body)
      return presentIdempotent(call, done, presentNewKey)
    },
  }),
]
