import * as z from 'zod'
import { countAnswer, microusdAnswer } from '../http/answers'
import { presenterOf } from '../http/presenter'
import { type Route, route } from '../http/route'
import { postErrors } from '../posts/errors'
import { previewBody, readDraft } from './inputs'
import { type AgentPromise, toDraft, toPreview } from './preview-view'
import { previewStatements } from './queries'

const promiseAnswer = z
  .object({
    agent: z.string().describe('Name of the agent.'),
    cause: z.enum(['mention', 'reply', 'follow_up']),
    consequence: z
      .enum(['starts', 'joins', 'waits', 'refuses', 'not_woken'])
      .describe(
        'joins: it reads the text in its present run; refuses: a budget is used up, and it answers that.',
      ),
    reason: z.string().nullable().describe('Why it does not start; null when it does.'),
    requester: z.string().describe('The account that the run acts for.'),
    model: z.string(),
    tools: z.array(z.string()).describe('Tools that it may use for this requester.'),
    needs_approval: z.array(z.object({ tool: z.string(), calls: z.enum(['all', 'some']) })),
    accounts: z
      .array(
        z.object({ service: z.string(), tools: z.array(z.string()), is_connected: z.boolean() }),
      )
      .describe('Servers where these tools use the account that the requester connected.'),
    reserved_microusd: microusdAnswer.describe('What the first model call can cost at most.'),
    most_microusd: microusdAnswer.describe(
      'What the whole run can cost at most: what its budgets leave.',
    ),
    tokens_max: countAnswer.nullable().describe('Tokens of the whole run; null: no own limit.'),
    paid_by: z.array(
      z.object({ scope: z.string(), period: z.string(), name: z.string().nullable() }),
    ),
  })
  .meta({ id: 'AgentPromise' })

const presentPromise = presenterOf(promiseAnswer).from<AgentPromise>({
  agent: (promise) => promise.name,
  accounts: (promise) =>
    promise.accounts.map(({ service, tools, isConnected }) => ({
      ...{ service, tools, is_connected: isConnected },
    })),
})

export const previewRoutes: Route[] = [
  route({
    method: 'post',
    path: '/posts/preview',
    summary:
      'Says what a post or comment would do, and posts nothing: which agents it wakes, with which tools, what requires approval, the cost at most and who pays',
    tag: 'ask',
    access: 'own',
    rate: 'read',
    body: previewBody,
    answer: z.object({
      refusal: z.string().nullable().describe('Why it would not be posted; null when it would.'),
      agents: z.array(promiseAnswer),
      notified: z.array(z.string()).describe('Names of the other accounts that are notified.'),
    }),
    handle: async ({ context, credential, body, read }) => {
      const { texts, place } = readDraft(body)
      const draft = toDraft(texts, place)
      const now = context.clock.now()
      const { answers } = await read(previewStatements(draft, credential, now))
      const { place: found } = answers
      if (!found) {
        throw place.postId === null ? postErrors.unknownCommunity() : postErrors.unknownPost()
      }
      const facts = { ...answers, place: found }
      const { refusal, agents, notified } = await toPreview(context, facts, texts)
      return { refusal, agents: agents.map(presentPromise), notified }
    },
  }),
]
