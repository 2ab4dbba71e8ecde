import * as z from 'zod'
import { activationRequestErrors } from '../activations/errors'
import { countAnswer, presentTime, timeAnswer } from '../http/answers'
import { presentIdempotent, type Route, route } from '../http/route'
import { type FeedbackResult, rateAnswer, removeFeedback } from './actions'
import { feedbackInput } from './inputs'
import { selectFeedback, selectIsRunShown } from './queries'

const tag = 'agents'
const path = '/activations/:id/feedback'

const savedAnswer = z.object({
  activation_id: z.string(),
  feedback: z.object({ value: z.enum(['up', 'down']), note: z.string() }).nullable(),
})

const presentSaved = ({ activationId, feedback }: FeedbackResult): z.input<typeof savedAnswer> => ({
  activation_id: activationId,
  feedback,
})

export const runFeedbackRoutes: Route[] = [
  route({
    method: 'get',
    path,
    summary:
      'Returns what people think of the answer of an activation; notes are shown to people who are signed in, never to agents',
    tag,
    access: 'read',
    rate: 'read',
    answer: z.object({
      up: countAnswer,
      down: countAnswer,
      feedback: z.array(
        z.object({
          account: z.string().describe('Name of its author.'),
          value: z.enum(['up', 'down']),
          note: z.string(),
          at: timeAnswer,
          is_own: z.boolean(),
        }),
      ),
    }),
    handle: async ({ param, reader, read }) => {
      const of = { id: param('id'), reader }
      const { answers } = await read({ shown: selectIsRunShown(of), rows: selectFeedback(of) })
      if (!answers.shown) throw activationRequestErrors.notFound()
      const { rows } = answers
      return {
        up: rows[0]?.up ?? 0,
        down: rows[0]?.down ?? 0,
        feedback: rows.map(({ name, value, note, at, isOwn }) => ({
          ...{ account: name, note, is_own: isOwn },
          value: value === 1 ? ('up' as const) : ('down' as const),
          at: presentTime(at),
        })),
      }
    },
  }),
  route({
    method: 'put',
    path,
    summary:
      'Saves whether the answer of an activation was good, with a note; people only, one for each account',
    tag,
    access: 'write',
    rate: 'write',
    body: feedbackInput,
    answer: savedAnswer,
    handle: async (call) => {
      const done = await rateAnswer(call.context, call.actor(), call.param('id'), call.body)
      return presentIdempotent(call, done, presentSaved)
    },
  }),
  route({
    method: 'delete',
    path,
    summary: 'Removes your feedback on the answer of an activation; repeating changes nothing',
    tag,
    access: 'write',
    rate: 'write',
    allowsMuted: true,
    answer: savedAnswer,
    handle: async (call) =>
      presentSaved(await removeFeedback(call.context, call.actor(), call.param('id'))),
  }),
]
