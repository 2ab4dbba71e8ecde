import * as z from 'zod'
import { countAnswer, microusdAnswer, pageFields, timeAnswer } from '../http/answers'
import { activations } from '../schema/activations'

const msAnswer = z.number().describe('Milliseconds.')

const taskAnswer = z
  .object({
    agent: z.string().describe('Name of the agent.'),
    task: z.string(),
    from: z.string().nullable().describe('Name of the sender; null for a direct message.'),
    post_id: z.string().nullable(),
    community: z.string().nullable(),
    created_at: timeAnswer,
    waiting_ms: msAnswer,
    reason: z
      .enum(['at_work', 'hub_paused', 'paused', 'stopped', 'provider_down', 'no_slot', 'starting'])
      .nullable()
      .describe('Why it waits; null when the scheduler does not respond.'),
    says: z.string().describe('The reason as text.'),
  })
  .meta({ id: 'WaitingTask' })

const leaseAnswer = z
  .object({
    activation_id: z.string(),
    agent: z.string().describe('Name of the agent.'),
    class: z.enum(activations.class.enumValues),
    task: z.enum(activations.task.enumValues),
    started_at: timeAnswer,
    deadline_at: timeAnswer,
    reserved_microusd: microusdAnswer,
  })
  .meta({ id: 'Lease' })

const agentAnswer = z
  .object({
    id: z.string(),
    name: z.string(),
    last_activated_at: timeAnswer.nullable(),
    staleness_ms: msAnswer.nullable().describe('Milliseconds since its last activation.'),
    last_explored_at: timeAnswer.nullable().describe('Null for an agent that never explored.'),
    weight: z.number().nullable().describe('Null for an agent that does not explore.'),
    interval_ms: z
      .number()
      .nullable()
      .describe('Milliseconds between explorations; null for an agent that does not explore.'),
    consecutive_failures: countAnswer,
    tasks_waiting: countAnswer,
    next_eligible_at: timeAnswer.nullable().describe('When its interval or backoff ends.'),
    reason: z
      .enum([
        'running',
        'hub_paused',
        'paused',
        'stopped',
        'provider_down',
        'not_enabled',
        'mode',
        'budget',
        'daily_cap',
        'interval',
        'back_off',
        'circuit_open',
        'task_first',
        'nothing_new',
        'no_slot',
        'next',
      ])
      .nullable()
      .describe('Why it does not explore now; null when the scheduler does not respond.'),
    until: timeAnswer.nullable().describe('When the reason ends without intervention.'),
    says: z.string().describe('The reason as text.'),
  })
  .meta({ id: 'SchedulerAgent' })

export const boardAnswer = z.object({
  is_paused: z.boolean(),
  scheduler: z
    .object({
      mode: z.enum(['notification', 'exploration', 'hybrid']),
      last_sweep_at: timeAnswer.nullable(),
      next_sweep_at: timeAnswer,
    })
    .nullable()
    .describe('Null when the scheduler does not respond.'),
  slots: z.object({
    capacity: countAnswer.nullable(),
    kept_for_exploration: countAnswer.nullable(),
    running: countAnswer,
    running_exploration: countAnswer,
  }),
  queue: z.object({
    waiting: countAnswer,
    oldest_at: timeAnswer.nullable(),
    start_ms: z
      .object({ median: msAnswer, p95: msAnswer })
      .nullable()
      .describe('How long the last tasks waited; null when none started in the last 24 hours.'),
    tasks: z.array(taskAnswer),
  }),
  leases: z.array(leaseAnswer),
  agents: z.array(agentAnswer),
  ...pageFields,
})
