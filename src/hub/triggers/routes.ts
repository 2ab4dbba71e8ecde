import * as z from 'zod'
import { deletedAnswer, presenterOf, presentTime, timeAnswer } from '../http/answers'
import { presentIdempotent, type Route, routesOf } from '../http/route'
import { personAnswer } from '../rules/people'
import { communityName, placeAnswer, withoutMark } from '../rules/places'
import { deliveryOutcomes, verifications } from '../schema/triggers'
import { viewerValues } from '../viewers/queries'
import { createTrigger, removeTrigger, replaceSecret, toTriggerUrl, triggerInput } from './actions'
import {
  type DeliveryRow,
  selectDeliveries,
  selectDeliveriesOf,
  selectTriggers,
  selectTriggersOf,
  type TriggerRow,
} from './queries'
import { receiveDelivery } from './receive-actions'

const route = routesOf('tools')

const triggerFields = {
  id: z.string(),
  url: z.string().describe('The address that deliveries are sent to.'),
  community: placeAnswer.nullable().describe('Where it posts; null where it asks an agent.'),
  agent: personAnswer.nullable().describe('The agent that it asks; null where it posts.'),
  template: z.string().describe('Empty where it takes reviews.'),
  takes_reviews: z.boolean(),
  verify: z.enum(verifications),
  per_hour_max: z.int(),
  created_at: timeAnswer,
}

const deliveryAnswer = z.object({
  at: timeAnswer,
  outcome: z
    .enum(deliveryOutcomes)
    .describe(
      'owner: the owner must not post there, or ask that agent, any more. limit: of deliveries within an hour.',
    ),
  event: z.string().nullable(),
  note: z.string().nullable().describe('More about the outcome, such as fields that are missing.'),
  post_id: z.string().nullable(),
})

const presentDelivery = presenterOf(deliveryAnswer).from<DeliveryRow>({})

type ShownTrigger = Omit<TriggerRow, 'owner' | 'secretVersion' | 'oldSecretsUntil'>

const presentFields = presenterOf(z.object(triggerFields)).from<ShownTrigger & { url: string }>({})

const presentTrigger = (origin: string, trigger: ShownTrigger) =>
  presentFields({ ...trigger, url: toTriggerUrl(origin, trigger.id) })

export const triggerRoutes: Route[] = [
  route({
    method: 'get',
    path: '/triggers',
    summary:
      'Lists your triggers, or those of a community that you moderate, with their last deliveries',
    access: 'own',
    query: z.object({ community: communityName.optional() }),
    answer: z.object({
      triggers: z.array(
        z.object({
          ...triggerFields,
          owner: personAnswer,
          deliveries: z.array(deliveryAnswer).describe('The last ten, the newest first.'),
        }),
      ),
    }),
    handle: async ({ c, context, credential, query, read }) => {
      const now = context.clock.now()
      const name = query.community
      const of = name && { ...viewerValues(credential, now), community: withoutMark(name) }
      const { answers } = await read({
        triggers: of ? selectTriggersOf(of) : selectTriggers(credential, now),
        deliveries: of ? selectDeliveriesOf(of) : selectDeliveries(credential, now),
      })
      const byTrigger = Map.groupBy(answers.deliveries, ({ triggerId }) => triggerId)
      return {
        triggers: answers.triggers.map((trigger) => ({
          ...presentTrigger(c.var.origin, trigger),
          owner: trigger.owner,
          deliveries: (byTrigger.get(trigger.id) ?? []).map(presentDelivery),
        })),
      }
    },
  }),
  route({
    method: 'post',
    path: '/triggers',
    summary:
      'Creates an address at which another service posts in a community or gives an agent a task',
    access: 'write',
    status: 201,
    body: triggerInput,
    answer: z.object({
      trigger: z.object({
        ...triggerFields,
        secret: z.string().describe('The secret of its deliveries. Returned only once.'),
      }),
    }),
    handle: async (call) => {
      const done = await createTrigger(call.context, call.actor(), call.viewer(), call.body)
      return presentIdempotent(call, done, (trigger) => ({
        trigger: { ...presentTrigger(call.c.var.origin, trigger), secret: trigger.secret },
      }))
    },
  }),
  route({
    method: 'post',
    path: '/triggers/:id/secret',
    summary: 'Gives one of your triggers a new secret; the one before is accepted for a day',
    access: 'write',
    answer: z.object({
      trigger: z.object({
        id: z.string(),
        secret: z.string().describe('Returned only once.'),
        old_secret_until: timeAnswer,
      }),
    }),
    handle: async (call) => {
      const done = await replaceSecret(call.context, call.actor(), call.param('id'))
      return presentIdempotent(call, done, ({ id, secret, oldSecretUntil }) => ({
        trigger: { id, secret, old_secret_until: presentTime(oldSecretUntil) },
      }))
    },
  }),
  route({
    method: 'delete',
    path: '/triggers/:id',
    summary: 'Deletes one of your triggers, or one of a community that you moderate',
    access: 'write',
    allowsMuted: true,
    answer: deletedAnswer,
    handle: async (call) => {
      await removeTrigger(call.context, call.actor(), call.param('id'))
      return { deleted: call.param('id') }
    },
  }),
  route({
    method: 'post',
    path: '/triggers/:id',
    summary: 'Takes a delivery of another service, signed with the secret of the trigger',
    access: 'open',
    status: 202,
    idleStatus: 200,
    takesDelivery: true,
    answer: z.object({
      accepted: z
        .literal(true)
        .describe('With status 200 nothing was started: it was received before, or asks nothing.'),
      note: z.string().nullable().describe('More about it, such as why nothing was started.'),
    }),
    handle: async ({ c, context, param }) => {
      const body = new Uint8Array(await c.req.arrayBuffer())
      const header = (name: string) => c.req.header(name)
      const { isStarted, note } = await receiveDelivery(context, param('id'), { body, header })
      return c.json({ success: true, accepted: true, note }, isStarted ? 202 : 200)
    },
  }),
]
