import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeAll } from 'vitest'
import type { SchedulingMode } from '../../../src/agents/scheduler/explain'
import { SchedulerShell } from '../../../src/agents/scheduler/scheduler-shell'
import type { CommitRequest } from '../../../src/hub/contract/hub'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import { createOffice } from '../../hub/runs/create-office'

export const office = createOffice()
export const { hub, post, run } = office
const { hubApi } = office
export const minute = 60_000
export const hour = 60 * minute

/** Key of a person who posts. */
export const keyOfMira = () => mira.key
let mira: Awaited<ReturnType<typeof hub.join>>
let agents: { id: AccountId; name: string; key: string }[]
export const idOf = (at: number) => agents[at]?.id as AccountId

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  agents = []
  for (let number = 0; number < 4; number++) agents.push(await office.createAgent(`agent${number}`))
  for (const { id } of agents) {
    await run(
      'INSERT INTO explorers (account_id, interval_ms, updated_at) VALUES (?, ?, 0)',
      id,
      15 * minute,
    )
  }
})

/** A hub whose time only the test advances. */
export interface Day {
  scheduler: SchedulerShell
  /** Explorations that became activations, each with one model call, in order. */
  turns: { agentId: AccountId; at: number }[]
  woken: AccountId[]
  /** Explorations that were offered. */
  offers: number
  /** Advances time, alarm by alarm. */
  pass(ms: number): Promise<void>
  /** The agent completes its oldest task, if it has one. */
  answer(agentId: AccountId): Promise<void>
}

interface Conditions {
  mode?: SchedulingMode
  outcomeOf?: (agentId: AccountId) => CommitRequest['outcome']
}

/**
 * The scheduler's shell on a Durable Object's own SQLite, the hub on its own D1, and a clock that only
 * this advances. Agents explore the posts of LOAD and pass, and complete tasks at once.
 */
export async function live(
  name: string,
  conditions: Conditions,
  story: (day: Day) => Promise<void>,
) {
  await office.clear()
  await run('UPDATE posts SET deleted_at = 1')
  await runInDurableObject(env.SCHEDULER.getByName(name), async (_object, state) => {
    let alarmAt = Number.POSITIVE_INFINITY
    const takeTurn = async (agentId: AccountId) => {
      day.offers++
      const activationId = office.newId<ActivationId>()
      const now = hub.clock.now()
      const request = { agentId, activationId, now, capacity: 5, explorationFloor: 1 }
      const answer = await hubApi.load({ ...request, canExplore: true })
      if (answer.kind !== 'loaded') return
      day.turns.push({ agentId, at: now })
      hub.clock.advance(1000)
      await office.commit(agentId, activationId, {
        outcome: conditions.outcomeOf?.(agentId) ?? 'completed',
        usage: [],
      })
    }
    const finishTasks = (agentId: AccountId) =>
      run(
        `UPDATE inbox_items SET read_at = ? WHERE account_id = ? AND type = 'task'`,
        hub.clock.now(),
        agentId,
      )
    const setAlarm = async (at: number) => {
      alarmAt = at
    }
    const scheduler = new SchedulerShell(
      { sql: state.storage.sql, setAlarm },
      {
        hub: hubApi,
        wake: async (ids) => {
          day.woken.push(...ids)
          for (const id of ids) await finishTasks(id)
          return true
        },
        offerExplorations: async (ids) => {
          for (const id of ids) await takeTurn(id)
          return true
        },
        clock: hub.clock,
        mode: conditions.mode ?? 'hybrid',
        capacity: 5,
      },
    )
    const hear = async () => {
      for (const news of hub.seen.heard.splice(0)) await scheduler.reportOutcome(news)
      for (const at of hub.seen.news.splice(0)) scheduler.announceNews(at)
    }
    const day: Day = {
      scheduler,
      turns: [],
      woken: [],
      offers: 0,
      answer: async (agentId) => {
        const activationId = office.newId<ActivationId>()
        const answer = await office.load(agentId, activationId)
        if (answer.kind !== 'loaded') return
        await office.commit(agentId, activationId, { usage: [] })
        await hear()
      },
      pass: async (ms) => {
        const end = hub.clock.now() + ms
        await hear()
        for (let alarms = 0; alarmAt <= end; alarms++) {
          if (alarms > 5_000) throw new Error('the alarm does not rest')
          hub.clock.advance(Math.max(0, alarmAt - hub.clock.now()))
          alarmAt = Number.POSITIVE_INFINITY
          await scheduler.alarm()
          await hear()
        }
        hub.clock.advance(Math.max(0, end - hub.clock.now()))
      },
    }
    await scheduler.ensureStarted()
    await hear()
    await story(day)
  })
}

/** Returns how often each agent explored. */
export const countTurns = (day: Day) =>
  agents.map(({ id }) => day.turns.filter((t) => t.agentId === id).length)
