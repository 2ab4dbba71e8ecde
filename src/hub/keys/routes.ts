import * as z from 'zod'
import { run } from '../../shared/db/batch'
import { deletedAnswer, presentTime, timeAnswer } from '../http/answers'
import { presentIdempotent, type Route, route } from '../http/route'
import { createKey, keyInput, removeKey } from './actions'
import { keyFields, newKeyAnswer, presentKey, presentNewKey } from './present'
import { selectKeys } from './queries'

const tag = 'sign-in'

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
  tag,
  access: 'write',
  rate: 'write',
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
    tag,
    access: 'write',
    rate: 'read',
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
    tag,
    access: 'write',
    rate: 'write',
    allowsMuted: true,
    answer: deletedAnswer,
    handle: async (call) => {
      await removeKey(call.context, call.viewer().id, call.param('id'))
      return { deleted: call.param('id') }
    },
  }),
]
