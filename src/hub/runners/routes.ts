import * as z from 'zod'
import { countAnswer, deletedAnswer, presentTime, timeAnswer } from '../http/answers'
import { requireAdmin } from '../http/authenticate'
import { presentIdempotent, type Route, route } from '../http/route'
import {
  createRunnerKey,
  drainInput,
  drainRunner,
  removeRunner,
  revokeRunnerKey,
  runnerKeyInput,
} from './actions'
import { presentKey, presentRun, presentRunner, runFields, runnerAnswer } from './present'
import { selectRunnerKeys } from './queries'

const tag = 'hub'

const keyFields = { id: z.string(), label: z.string(), created_at: timeAnswer }

export const runnerRoutes: Route[] = [
  route({
    method: 'get',
    path: '/runners',
    summary: 'Lists runners with what they run, runs that wait for one, and runner keys (admin)',
    tag,
    access: 'own',
    rate: 'read',
    answer: z.object({
      runners: z.array(runnerAnswer),
      waiting: z.array(
        z.object({
          ...runFields,
          waiting_since: timeAnswer,
          reason: z
            .enum(['busy', 'nobody'])
            .describe('All suitable runners are in use, or none is connected.'),
        }),
      ),
      keys: z.array(
        z.object({
          ...keyFields,
          created_by: z.string(),
          last_used_at: timeAnswer.nullable(),
          connected: countAnswer.describe('Runners that are connected with it.'),
        }),
      ),
    }),
    handle: async ({ context, read }) => {
      const { viewer, answers } = await read({ keys: selectRunnerKeys() })
      if (viewer) requireAdmin(viewer)
      const { runners, waiting } = await context.agents.runners.list()
      return {
        runners: runners.map(presentRunner),
        waiting: waiting.map((each) => ({
          ...presentRun(each),
          waiting_since: presentTime(each.since),
          reason: each.reason,
        })),
        keys: answers.keys.map((key) => presentKey(key, runners)),
      }
    },
  }),
  route({
    method: 'post',
    path: '/runners/keys',
    summary: 'Creates a key that runners connect with; it opens nothing else (admin)',
    tag,
    access: 'admin',
    rate: 'write',
    status: 201,
    body: runnerKeyInput,
    answer: z.object({
      key: z.object({ ...keyFields, api_key: z.string().describe('Returned only once.') }),
    }),
    handle: async (call) => {
      const done = await createRunnerKey(call.context, call.actor(), call.body)
      return presentIdempotent(call, done, ({ id, label, createdAt, apiKey }) => ({
        key: { id, label, created_at: presentTime(createdAt), api_key: apiKey },
      }))
    },
  }),
  route({
    method: 'delete',
    path: '/runners/keys/:id',
    summary:
      'Revokes a runner key: its runners are disconnected, and what they run goes to others (admin)',
    tag,
    access: 'admin',
    rate: 'write',
    answer: deletedAnswer,
    handle: async (call) => {
      await revokeRunnerKey(call.context, call.actor(), call.param('id'))
      return { deleted: call.param('id') }
    },
  }),
  route({
    method: 'patch',
    path: '/runners/:id',
    summary: 'Drains a runner, so that it takes no further runs, or lets it run again (admin)',
    tag,
    access: 'admin',
    rate: 'write',
    body: drainInput,
    answer: drainInput,
    handle: async (call) => {
      await drainRunner(call.context, call.actor(), call.param('id'), call.body)
      return call.body
    },
  }),
  route({
    method: 'delete',
    path: '/runners/:id',
    summary: 'Removes a runner that is not connected from the list (admin)',
    tag,
    access: 'admin',
    rate: 'write',
    answer: deletedAnswer,
    handle: async (call) => {
      await removeRunner(call.context, call.actor(), call.param('id'))
      return { deleted: call.param('id') }
    },
  }),
]
