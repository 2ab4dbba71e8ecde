import * as z from 'zod'
import { presentTime, timeAnswer } from '../http/answers'
import { presentIdempotent, type Route, route } from '../http/route'
import { type AssignedTask, assignTask, taskInput } from './actions'

const taskAnswer = z.object({
  item: z.object({
    id: z.string().describe('Id of the inbox item of the agent.'),
    type: z.literal('task'),
    agent: z.string().describe('Name of the agent.'),
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
    rate: 'write',
    status: 202,
    body: taskInput,
    answer: taskAnswer,
    handle: async (call) => {
      const done = await assignTask(call.context, call.actor(), call.param('name'), call.body)
      return presentIdempotent(call, done, presentTask)
    },
  }),
]
