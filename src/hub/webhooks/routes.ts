import * as z from 'zod'
import { run } from '../../shared/db/batch'
import { webhookFormats } from '../contract/webhooks'
import { countAnswer, deletedAnswer, presentTime, timeAnswer } from '../http/answers'
import { presentIdempotent, type Route, routesOf } from '../http/route'
import { personAnswer } from '../rules/people'
import { communityName, placeAnswer, withoutMark } from '../rules/places'
import { outbox, webhookEvents } from '../schema/webhooks'
import {
  changeWebhook,
  createWebhook,
  removeWebhook,
  resendDelivery,
  rotateSecret,
  testWebhook,
  webhookErrors,
  webhookInput,
  webhookUpdate,
} from './actions'
import {
  type DeliveryRow,
  selectCommunityWebhooks,
  selectDeliveries,
  selectOwnWebhooks,
  selectWebhook,
  type WebhookRow,
} from './queries'

const route = routesOf('tools')

const webhookAnswer = z
  .object({
    id: z.string(),
    owner: personAnswer,
    community: placeAnswer.nullable().describe('Null: the whole hub.'),
    url: z.string().describe('Without its path, which can be a credential.'),
    format: z.enum(webhookFormats),
    events: z.array(z.enum(webhookEvents)),
    created_at: timeAnswer,
    is_disabled: z.boolean(),
    reason: z.string().nullable().describe('Why the hub disabled it; null when the hub did not.'),
    failing_since: timeAnswer.nullable().describe('Null: the last attempt was successful.'),
  })
  .meta({ id: 'Webhook' })

const secretAnswer = z
  .string()
  .describe('Verifies the signatures of messages (Standard Webhooks). Returned only once.')

const presentWebhook = (webhook: WebhookRow): z.input<typeof webhookAnswer> => ({
  id: webhook.id,
  owner: webhook.owner,
  community: webhook.community,
  url: webhook.url,
  format: webhook.format,
  events: webhook.events,
  created_at: presentTime(webhook.createdAt),
  is_disabled: webhook.disabledAt !== null,
  reason: webhook.reason,
  failing_since: presentTime(webhook.failingSince),
})

const deliveryAnswer = z
  .object({
    id: z.string().describe('The `webhook-id` of every attempt.'),
    event: z.enum([...webhookEvents, 'webhook.test']),
    at: timeAnswer.describe('When it happened.'),
    status: z
      .enum(outbox.state.enumValues)
      .describe('withheld: it was deleted, or the owner may not read it any more.'),
    attempts: countAnswer,
    next_at: timeAnswer.nullable().describe('The next attempt; null when there is none.'),
    answer: z.string().nullable().describe('How the last attempt ended, as a sentence.'),
  })
  .meta({ id: 'WebhookDelivery' })

const presentDelivery = (delivery: DeliveryRow): z.input<typeof deliveryAnswer> => ({
  id: delivery.id,
  event: delivery.event,
  at: presentTime(delivery.createdAt),
  status: delivery.state,
  attempts: delivery.attempts,
  next_at: presentTime(delivery.nextAt),
  answer: delivery.answer,
})

export const webhookRoutes: Route[] = [
  route({
    method: 'get',
    path: '/webhooks',
    summary: 'Lists your webhooks, or those of a community that you may manage',
    access: 'own',
    query: z.object({ community: communityName.optional() }),
    answer: z.object({ webhooks: z.array(webhookAnswer) }),
    handle: async ({ read, reader, query: { community } }) => {
      const { answers } = await read({
        webhooks:
          community === undefined
            ? selectOwnWebhooks(reader)
            : selectCommunityWebhooks(reader, withoutMark(community)),
      })
      return { webhooks: answers.webhooks.map(presentWebhook) }
    },
  }),
  route({
    method: 'post',
    path: '/webhooks',
    summary: 'Creates a webhook: what happens on the hub or in a community is sent to its URL',
    access: 'write',
    status: 201,
    body: webhookInput,
    answer: z.object({ webhook: webhookAnswer.extend({ secret: secretAnswer }) }),
    handle: async (call) => {
      const done = await createWebhook(call.context, call.actor(), call.viewer(), call.body)
      return presentIdempotent(call, done, ({ secret, ...webhook }) => ({
        webhook: { ...presentWebhook(webhook), secret },
      }))
    },
  }),
  route({
    method: 'patch',
    path: '/webhooks/:id',
    summary: 'Changes one of your webhooks, or enables or disables it',
    access: 'write',
    body: webhookUpdate,
    answer: z.object({ webhook: webhookAnswer }),
    handle: async ({ context, actor, param, body, reader }) => {
      await changeWebhook(context, actor(), param('id'), body)
      const webhook = await run(context.db, selectWebhook(reader, param('id')))
      if (!webhook) throw webhookErrors.notFound()
      return { webhook: presentWebhook(webhook) }
    },
  }),
  route({
    method: 'delete',
    path: '/webhooks/:id',
    summary: 'Deletes a webhook of yours, or of a place that you moderate, and its deliveries',
    access: 'write',
    allowsMuted: true,
    answer: deletedAnswer,
    handle: async ({ context, actor, param }) => {
      await removeWebhook(context, actor(), param('id'))
      return { deleted: param('id') }
    },
  }),
  route({
    method: 'post',
    path: '/webhooks/:id/secret',
    summary: 'Rotates the secret of one of your webhooks: for a day both sign its messages',
    access: 'write',
    answer: z.object({ secret: secretAnswer }),
    handle: async (call) => {
      const done = await rotateSecret(call.context, call.actor(), call.param('id'))
      return presentIdempotent(call, done, ({ secret }) => ({ secret }))
    },
  }),
  route({
    method: 'get',
    path: '/webhooks/:id/deliveries',
    summary: 'Lists the last deliveries to a webhook, the newest first',
    access: 'own',
    answer: z.object({ deliveries: z.array(deliveryAnswer) }),
    handle: async ({ read, reader, param }) => {
      const { answers } = await read({
        webhook: selectWebhook(reader, param('id')),
        deliveries: selectDeliveries(reader, param('id')),
      })
      if (!answers.webhook) throw webhookErrors.notFound()
      return { deliveries: answers.deliveries.map(presentDelivery) }
    },
  }),
  route({
    method: 'post',
    path: '/webhooks/:id/deliveries/:delivery/resend',
    summary: 'Sends a delivery to one of your webhooks again, with the same id',
    access: 'write',
    status: 202,
    answer: z.object({ id: z.string().describe('Of the delivery.') }),
    handle: async ({ context, actor, param }) => {
      await resendDelivery(context, actor(), param('id'), param('delivery'))
      return { id: param('delivery') }
    },
  }),
  route({
    method: 'post',
    path: '/webhooks/:id/test',
    summary: 'Sends a test to one of your webhooks, and returns how that ended',
    access: 'write',
    answer: z.object({ delivery: deliveryAnswer }),
    handle: async (call) => {
      const done = await testWebhook(call.context, call.actor(), call.param('id'))
      return presentIdempotent(call, done, (row) => ({ delivery: presentDelivery(row) }))
    },
  }),
]
