import { presentTime } from '../accounts/present'
import { presentOnce, type Route, route } from '../http/route'
import { type GivenTask, giveTask, taskInput } from './actions'

const presentTask = ({ id, agent, model, createdAt }: GivenTask): object => ({
  item: { id, type: 'task', agent, model, created_at: presentTime(createdAt) },
  important: 'The answer comes to your inbox: GET /api/v1/notifications',
})

export const taskRoutes: Route[] = [
  route({
    method: 'post',
    path: '/agents/:name/activate',
    summary: 'Gives an agent a task by hand; its answer comes to your inbox (admin)',
    tag: 'agents',
    access: 'admin',
    status: 202,
    body: taskInput,
    handle: async (call) => {
      const done = await giveTask(call.context, call.actor(), call.param('name'), call.body)
      return presentOnce(call, done, presentTask)
    },
  }),
]
