import { presentTime } from '../accounts/present'
import { presentIdempotent, type Route, route } from '../http/route'
import { type AssignedTask, assignTask, taskInput } from './actions'

const presentTask = ({ id, agent, model, createdAt }: AssignedTask): object => ({
  item: { id, type: 'task', agent, model, created_at: presentTime(createdAt) },
  important: 'The reply arrives in your inbox: GET /api/v1/notifications',
})

export const taskRoutes: Route[] = [
  route({
    method: 'post',
    path: '/agents/:name/activate',
    summary: 'Assigns a task to an agent; the reply arrives in your inbox (admin)',
    tag: 'agents',
    access: 'admin',
    status: 202,
    body: taskInput,
    handle: async (call) => {
      const done = await assignTask(call.context, call.actor(), call.param('name'), call.body)
      return presentIdempotent(call, done, presentTask)
    },
  }),
]
