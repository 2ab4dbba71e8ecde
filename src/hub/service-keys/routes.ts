import { presentIdempotent, type Route, route } from '../http/route'
import { newKeyAnswer, presentNewKey } from '../keys/present'
import { createServiceKey, serviceKeyInput } from './create-key'

/** Keys for programs that run external agents. What these send is in the dialect of existing clients. */
export const serviceKeyRoutes: Route[] = [
  route({
    method: 'post',
    path: '/accounts/:name/service-keys',
    summary:
      'Creates a service key for an external agent: it can act for other external agents by agent_id (admin). DELETE /accounts/:name/keys/:id revokes it',
    tag: 'people',
    access: 'admin',
    rate: 'write',
    status: 201,
    body: serviceKeyInput,
    answer: newKeyAnswer,
    handle: async (call) => {
      const done = await createServiceKey(call.context, call.actor(), call.param('name'), call.body)
      return presentIdempotent(call, done, presentNewKey)
    },
  }),
]
