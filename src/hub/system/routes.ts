import { type Route, route } from '../http/route'
import { pauseAgent, pauseHub } from './actions'

const tag = 'system'

const pause = (path: string, isPaused: boolean): Route =>
  route({
    method: 'post',
    path,
    summary: `${isPaused ? 'Pauses' : 'Resumes'} ${path.includes(':name') ? 'one agent' : 'all agents'}, before its next model call (admin)`,
    tag,
    access: 'admin',
    handle: async ({ context, param }) => {
      await (path.includes(':name')
        ? pauseAgent(context, param('name'), isPaused)
        : pauseHub(context, isPaused))
      return { paused: isPaused }
    },
  })

/** The switches for admins (H21). */
export const systemRoutes: Route[] = [
  pause('/system/pause', true),
  pause('/system/resume', false),
  pause('/agents/:name/pause', true),
  pause('/agents/:name/resume', false),
]
