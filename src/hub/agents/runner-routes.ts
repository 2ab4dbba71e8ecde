import * as z from 'zod'
import type { RunnerRun, RunnerSummary } from '../../agents/contract/agents'
import { programTypes } from '../../shared/runner-protocol'
import { countAnswer, deletedAnswer, presenterOf, presentTime, timeAnswer } from '../http/answers'
import { requireAdmin } from '../http/authenticate'
import { presentIdempotent, type Route, routesOf } from '../http/route'
import { personAnswer } from '../rules/people'
import type { PersonAnswer } from '../rules/people-sql'
import {
  createRunnerKey,
  drainInput,
  drainRunner,
  removeRunner,
  revokeRunnerKey,
  runnerKeyInput,
} from './runner-actions'
import { type RunnerKeyRow, selectRunnerKeys, selectRunningAgents } from './runner-queries'

const route = routesOf('hub')

const runFields = {
  activation_id: z.string(),
  attempt: z.int(),
  agent: personAnswer.nullable().describe('Null for a run that has just ended.'),
  program: z.enum(programTypes),
  runs_on: z.array(z.string()).describe('Labels that its runner must have.'),
}

const runnerAnswer = z
  .object({
    id: z.string(),
    name: z.string(),
    key_id: z.string(),
    version: z.string(),
    labels: z.array(z.string()),
    slots: z.int(),
    has_sandbox: z.boolean(),
    programs: z.array(z.object({ type: z.enum(programTypes), version: z.string() })),
    is_connected: z.boolean(),
    is_draining: z.boolean(),
    connected_at: timeAnswer,
    last_seen_at: timeAnswer,
    runs: z.array(z.object({ ...runFields, started_at: timeAnswer })),
  })
  .meta({ id: 'Runner' })

/** Agents by their names. A runner knows the name alone. */
type AgentsByName = ReadonlyMap<string, PersonAnswer>

const presentRun = (run: RunnerRun, agents: AgentsByName) =>
  presentKnown({ ...run, agent: agents.get(run.agent) ?? null })

const presentKnown = presenterOf(z.object(runFields)).from<
  Omit<RunnerRun, 'agent'> & { agent: PersonAnswer | null }
>({})

const presentRunner = (runner: RunnerSummary, agents: AgentsByName) =>
  presentSummary({
    ...runner,
    runs: runner.runs.map((run) => ({
      ...presentRun(run, agents),
      started_at: presentTime(run.since),
    })),
  })

const presentSummary = presenterOf(runnerAnswer).from<
  Omit<RunnerSummary, 'runs'> & Pick<z.input<typeof runnerAnswer>, 'runs'>
>({})

const presentKey = (key: RunnerKeyRow, runners: readonly RunnerSummary[]) => ({
  id: key.id,
  label: key.label,
  created_by: key.createdBy,
  created_at: presentTime(key.createdAt),
  last_used_at: presentTime(key.lastUsedAt),
  connected: runners.filter(({ keyId, isConnected }) => keyId === key.id && isConnected).length,
})

const keyFields = { id: z.string(), label: z.string(), created_at: timeAnswer }

export const runnerRoutes: Route[] = [
  route({
    method: 'get',
    path: '/runners',
    summary: 'Lists runners with what they run, runs that wait for one, and runner keys (admin)',
    access: 'own',
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
          created_by: personAnswer,
          last_used_at: timeAnswer.nullable(),
          connected: countAnswer.describe('Runners that are connected with it.'),
        }),
      ),
    }),
    handle: async ({ context, read }) => {
      const { viewer, answers } = await read({
        keys: selectRunnerKeys(),
        running: selectRunningAgents(),
      })
      if (viewer) requireAdmin(viewer)
      const { runners, waiting } = await context.agents.runners.list()
      const agents = new Map(answers.running.map(({ agent }) => [agent.name, agent]))
      return {
        runners: runners.map((each) => presentRunner(each, agents)),
        waiting: waiting.map((each) => ({
          ...presentRun(each, agents),
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
    access: 'admin',
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
    access: 'admin',
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
    access: 'admin',
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
    access: 'admin',
    answer: deletedAnswer,
    handle: async (call) => {
      await removeRunner(call.context, call.actor(), call.param('id'))
      return { deleted: call.param('id') }
    },
  }),
]
