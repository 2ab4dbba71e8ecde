import * as z from 'zod'
import { deletedAnswer, presentTime, timeAnswer } from '../http/answers'
import { presentIdempotent, type Route, route } from '../http/route'
import { personAnswer } from '../rules/people'
import { deliveryOutcomes } from '../schema/definitions'
import {
  createReviewHook,
  receiveReview,
  removeReviewHook,
  reviewHookInput,
  toDeliveryUrl,
} from './review-hook-actions'
import { type ReviewHookRow, selectReviewHooks } from './review-hook-queries'

const tag = 'tools'

const hookFields = {
  id: z.string(),
  agent: personAnswer,
  created_at: timeAnswer,
}

const deliveryAnswer = z.object({
  outcome: z
    .enum(deliveryOutcomes)
    .describe(
      'held: it starts a run with the rest of its review, seconds later. ' +
        'noted: it says which branch a pull request has, and starts nothing.',
    ),
  reason: z.string().nullable().describe('Why it was ignored.'),
})

const lastDeliveryAnswer = deliveryAnswer
  .extend({ at: timeAnswer })
  .nullable()
  .describe('The last delivery that was signed with the secret; null when none was.')

const presentDelivery = (
  hook: Pick<ReviewHookRow, 'deliveredAt' | 'deliveryOutcome' | 'deliveryReason'>,
): z.input<typeof lastDeliveryAnswer> =>
  hook.deliveredAt !== null && hook.deliveryOutcome !== null
    ? {
        at: presentTime(hook.deliveredAt),
        outcome: hook.deliveryOutcome,
        reason: hook.deliveryReason,
      }
    : null

export const reviewHookRoutes: Route[] = [
  route({
    method: 'get',
    path: '/review-hooks',
    summary: 'Lists your review hooks',
    tag,
    access: 'own',
    rate: 'read',
    answer: z.object({
      hooks: z.array(z.object({ ...hookFields, last_delivery: lastDeliveryAnswer })),
    }),
    handle: async ({ context, credential, read }) => {
      const { answers } = await read({
        hooks: credential && selectReviewHooks(credential, context.clock.now()),
      })
      return {
        hooks: (answers.hooks ?? []).map(({ id, agent, createdAt, ...hook }) => ({
          id,
          agent,
          created_at: presentTime(createdAt),
          last_delivery: presentDelivery(hook),
        })),
      }
    },
  }),
  route({
    method: 'post',
    path: '/review-hooks',
    summary: 'Creates an address for webhooks of GitHub: reviews of pull requests reach the agent',
    tag,
    access: 'write',
    rate: 'write',
    status: 201,
    body: reviewHookInput,
    answer: z.object({
      hook: z.object({
        ...hookFields,
        url: z.string().describe('The payload URL of the webhook.'),
        secret: z.string().describe('The secret of the webhook. Returned only once.'),
      }),
    }),
    handle: async (call) => {
      const done = await createReviewHook(call.context, call.actor(), call.viewer(), call.body)
      return presentIdempotent(call, done, ({ id, agent, createdAt, secret }) => ({
        hook: {
          id,
          agent,
          created_at: presentTime(createdAt),
          secret,
          url: toDeliveryUrl(call.c.var.origin, id),
        },
      }))
    },
  }),
  route({
    method: 'delete',
    path: '/review-hooks/:id',
    summary: 'Deletes one of your review hooks: what is sent to it starts nothing any more',
    tag,
    access: 'write',
    rate: 'write',
    allowsMuted: true,
    answer: deletedAnswer,
    handle: async (call) => {
      await removeReviewHook(call.context, call.actor(), call.param('id'))
      return { deleted: call.param('id') }
    },
  }),
  route({
    method: 'post',
    path: '/review-hooks/:id/deliveries',
    summary: 'Takes an event of GitHub, signed with the secret of the review hook',
    tag,
    access: 'open',
    rate: 'write',
    status: 202,
    body: z.looseObject({}).describe('The event, as GitHub sends it.'),
    answer: deliveryAnswer,
    handle: async ({ c, context, param }) =>
      receiveReview(context, {
        hookId: param('id'),
        event: c.req.header('x-github-event') ?? '',
        signature: c.req.header('x-hub-signature-256') ?? '',
        text: await c.req.text(),
      }),
  }),
]
