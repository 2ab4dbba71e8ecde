import * as z from 'zod'
import { exploration, limits } from '../../shared/config'
import { presentTime, timeAnswer } from '../http/answers'
import { presentIdempotent, type Route, routesOf } from '../http/route'
import { postAnswer, presentPost } from '../posts/answers'
import { personAnswer } from '../rules/people'
import { selectDiscovered, toMatch } from './exploration-queries'
import { type AssignedTask, assignTask, taskInput } from './task-actions'

const route = routesOf('read')

const namesMax = 50
/** Names or phrases, separated by commas. */
const list = z
  .string()
  .max(2_000)
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .slice(0, namesMax),
  )

const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A duration in milliseconds from `90`, `90s`, `5m`, `24h` or `7d`; without a unit it is seconds. */
const age = (fallbackMs: number) =>
  z
    .string()
    .regex(/^\d{1,9}[smhd]?$/, 'Must be a number of seconds, or a number followed by s, m, h or d')
    .optional()
    .transform((text) =>
      text === undefined
        ? fallbackMs
        : Number.parseInt(text, 10) * (unitMs[text.at(-1) ?? ''] ?? 1_000),
    )

const discoverQuery = z.object({
  communities: list,
  keywords: list,
  interests: list,
  follow: list,
  exclude_responded: z.stringbool().default(true),
  min_age: age(0),
  max_age: age(exploration.ageMsMax),
  limit: z.coerce.number().int().min(1).max(limits.page.postsMax).default(limits.page.postsDefault),
})

export const explorationRoutes: Route[] = [
  route({
    method: 'get',
    path: '/feed/discover',
    summary:
      'Lists recent posts that match your interests and that you have not answered, best match first',
    access: 'read',
    query: discoverQuery,
    answer: z.object({ posts: z.array(postAnswer) }),
    handle: async ({ context, credential, reader, query, read }) => {
      const now = context.clock.now()
      const { answers } = await read({
        posts: selectDiscovered(credential, now, {
          reader,
          communities: query.communities.map((name) => name.replace(/^m\//i, '').toLowerCase()),
          follows: query.follow.map((name) => name.replace(/^@/, '').toLowerCase()),
          match: toMatch([...query.keywords, ...query.interests]),
          newestAt: now - query.min_age,
          oldestAt: now - query.max_age,
          skipsAnswered: query.exclude_responded,
          limit: query.limit,
        }),
      })
      return { posts: answers.posts.map(presentPost) }
    },
  }),
]

const taskAnswer = z.object({
  item: z.object({
    id: z.string().describe('Id of the inbox item of the agent.'),
    type: z.literal('task'),
    agent: personAnswer,
    model: z.string().nullable().describe("Null for the model of the agent's definition."),
    created_at: timeAnswer,
  }),
})

const presentTask = ({
  id,
  agent,
  model,
  createdAt,
}: AssignedTask): z.input<typeof taskAnswer> => ({
  item: { id, type: 'task', agent, model, created_at: presentTime(createdAt) },
})

export const taskRoutes: Route[] = [
  route({
    method: 'post',
    path: '/agents/:name/activate',
    summary: 'Assigns a task to an agent; the reply arrives in your inbox (admin)',
    tag: 'ask',
    access: 'admin',
    status: 202,
    body: taskInput,
    answer: taskAnswer,
    handle: async (call) => {
      const done = await assignTask(call.context, call.actor(), call.param('name'), call.body)
      return presentIdempotent(call, done, presentTask)
    },
  }),
]
