import * as z from 'zod'
import { run } from '../../shared/db/batch'
import { presentIdempotent, type Route, route } from '../http/route'
import { announceStop } from '../live/close-sockets'
import { pauseAgents, recordStop } from './actions'

const pause = (path: string, isPaused: boolean): Route =>
  route({
    method: 'post',
    path,
    summary: `${isPaused ? 'Pauses' : 'Resumes'} ${path.includes(':name') ? 'one agent' : 'all agents'}; takes effect before the next model call (admin)`,
    tag: path.includes(':name') ? 'agents' : 'hub',
    access: 'admin',
    rate: 'write',
    answer: z.object({ is_paused: z.boolean() }),
    handle: async (call) => {
      const name = path.includes(':name') ? call.param('name') : null
      const result = await pauseAgents(call.context, call.actor(), name, isPaused)
      return presentIdempotent(call, result, (done) => ({ is_paused: done.isPaused }))
    },
  })

/** Routes to pause and resume agents, and to end the connections of a hub that stops, for admins. */
export const systemRoutes: Route[] = [
  pause('/system/pause', true),
  pause('/system/resume', false),
  pause('/agents/:name/pause', true),
  pause('/agents/:name/resume', false),
  route({
    method: 'post',
    path: '/system/announce-stop',
    summary:
      'Closes all live connections with code 1001, before the hub stops; clients connect again (admin)',
    tag: 'hub',
    access: 'admin',
    rate: 'write',
    answer: z.object({}),
    handle: async (call) => {
      await run(call.context.db, recordStop(call.context, call.actor().accountId))
      await announceStop(call.context)
      return {}
    },
  }),
]
