import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { AgentShell } from '../../src/agents/agent-shell'
import { checkDefinition } from '../../src/agents/definitions/check-definition'
import { createDefinitionStore } from '../../src/agents/definitions/definition-store'
import type { AgentDeps } from '../../src/agents/effects/effect-context'
import { createHookRunner } from '../../src/agents/hooks/hook-runner'
import { createModelRegistry } from '../../src/agents/models/registry'
import { RecoveryLane } from '../../src/agents/recovery'
import { ActivationStream } from '../../src/agents/run/live-stream'
import { SchedulerShell } from '../../src/agents/scheduler/scheduler-shell'
import type { Exploration, LoadResult } from '../../src/hub/contract/hub'
import { createGateway } from '../../src/mcp-servers/gateway/create-gateway'
import { isGranted } from '../../src/mcp-servers/gateway/decide'
import { servers } from '../../src/mcp-servers/servers'
import type { AccountId } from '../../src/shared/ids'
import { createLog } from '../../src/shared/log'
import { readSettings } from '../../src/shared/settings'
import { adminKey } from '../hub/create-test-hub'
import { createOffice } from '../hub/runs/create-office'
import { fakeMemory } from './fake-memory'
import { testFileStores } from './file-stores'

/** An exploration that became an activation. */
export interface ExplorationRun {
  agent: string
  at: number
  /** The offered posts, best first. */
  shown: string[]
  /** The post it commented on; null when it passed. */
  answered: string | null
}

const capacity = 5

/**
 * A hub in which agents explore: scheduler, loop, tools and the offline model are the product's
 * own, on real D1 and Durable Objects; only the clock is moved by the test, alarm by alarm.
 */
export function createExploringHub() {
  const office = createOffice()
  const { hub, hubApi } = office
  const turns: ExplorationRun[] = []
  const names = new Map<AccountId, string>()
  const loads = new Map<AccountId, LoadResult>()
  const settings = readSettings({})
  const models = createModelRegistry(settings)
  const definitions = createDefinitionStore(env.FILES)
  const quiet = { redact: (text: string) => text, now: hub.clock.now }
  hub.seen.check = (files) =>
    checkDefinition(files, {
      listModels: (choice) => models.list(choice),
      listServers: () => servers.map(({ name }) => name),
      hookNames: [],
      isGranted,
      isTooWide: hub.seen.tools.isTooWide,
      hasTool: hub.seen.tools.hasToolForPattern,
    })
  hub.seen.keepDefinition = (name, etag, files) => definitions.save(name, etag, files)
  const tools = createGateway({
    ...testFileStores,
    hub: hubApi,
    memory: fakeMemory,
    clock: hub.clock,
    servers,
  })
  const deps: AgentDeps = {
    hub: {
      ...hubApi,
      load: async (request) => {
        const answer = await hubApi.load(request)
        loads.set(request.agentId, answer)
        return answer
      },
    },
    tools,
    models,
    runners: {
      start: async () => ({ kind: 'nobody' }),
      stop: async () => {},
      forgetSessions: async () => {},
    },
    patches: { save: async () => {} },
    media: { get: async () => null },
    approvalWaitMs: 60_000,
    definitions,
    hooks: createHookRunner([], { ...quiet, report: () => {} }),
    wakeAgents: async () => {},
    clock: hub.clock,
    lane: new RecoveryLane(hub.clock),
    hubName: 'Test',
    mask: quiet.redact,
    log: createLog({ ...quiet, level: 'error', write: () => {} }),
    random: () => 0,
    capacity,
    explorationFloor: 1,
  }

  /** Creates an exploring agent from the YAML of `interests`. */
  const explore = async (name: string, interests: string) => {
    const config = [
      `name: ${name}`,
      'description: Explores the hub.',
      'brain: { provider: offline }',
      'capabilities: { grants: [hub:read, hub:write] }',
      `interests: ${interests}`,
      'behavior: { discovery: { enabled: true } }',
    ]
    const files = { 'config.yaml': config.join('\n'), 'system-prompt.md': `You are ${name}.` }
    // Ids in the order of time, so that every run is the same.
    hub.clock.advance(1)
    const { status, body } = await hub.call(`/agents/${name}/definition`, {
      method: 'PUT',
      key: adminKey,
      body: { files },
    })
    if (status !== 200) throw new Error(JSON.stringify(body))
    const id = (
      await office.first<{ id: AccountId }>('SELECT id FROM accounts WHERE name = ?', name)
    )?.id
    if (id) names.set(id, name)
  }

  /** Runs an exploration that starts at `at` to its end. */
  const runExploration = (agentId: AccountId, at: number) =>
    runInDurableObject(env.AGENTS.getByName(agentId), async (_object, state) => {
      const storage = {
        sql: state.storage.sql,
        setAlarm: async () => {},
      } as unknown as DurableObjectStorage
      const shell = new AgentShell(storage, deps, new ActivationStream(state, quiet.redact))
      loads.delete(agentId)
      shell.wake(agentId, { canExplore: true })
      await shell.waitUntilIdle()
      await shell.alarm()
      const found = readExploration(loads.get(agentId))
      if (!found) return
      const said = await office.first<{ post_id: string }>(
        'SELECT post_id FROM comments WHERE author_id = ? AND created_at >= ?',
        agentId,
        at,
      )
      turns.push({
        agent: names.get(agentId) ?? '',
        at,
        answered: said?.post_id ?? null,
        shown: found.candidates.map(({ postId }) => postId),
      })
    })

  /** Advances time by `ms`; `events` happen at their times. */
  const pass = (ms: number, events: { at: number; happen(): Promise<unknown> }[] = []) =>
    runInDurableObject(env.SCHEDULER.getByName('day'), async (_object, state) => {
      let alarmAt = Number.POSITIVE_INFINITY
      const scheduler = new SchedulerShell(
        {
          sql: state.storage.sql,
          setAlarm: async (at) => {
            alarmAt = at
          },
        },
        {
          hub: hubApi,
          wake: async () => true,
          offerExplorations: async (ids) => {
            const at = hub.clock.now()
            // Concurrently, as the hub wakes them.
            await Promise.all(ids.map((id) => runExploration(id, at)))
            hub.clock.advance(1_000 * ids.length)
            return true
          },
          clock: hub.clock,
          mode: 'hybrid',
          capacity,
        },
      )
      const deliverNews = async () => {
        for (const news of hub.seen.heard.splice(0)) await scheduler.reportOutcome(news)
      }
      const end = hub.clock.now() + ms
      const open = events.toSorted((a, b) => a.at - b.at)
      await scheduler.ensureStarted()
      await deliverNews()
      for (let steps = 0; steps < 10_000; steps++) {
        const next = Math.min(alarmAt, open[0]?.at ?? end, end)
        hub.clock.advance(Math.max(0, next - hub.clock.now()))
        if (open[0] && open[0].at <= next) await open.shift()?.happen()
        else if (alarmAt <= next) {
          alarmAt = Number.POSITIVE_INFINITY
          await scheduler.alarm()
        } else return
        await deliverNews()
      }
      throw new Error('The simulation exceeded 10,000 steps.')
    })

  return { ...office, explore, pass, turns }
}

const readExploration = (answer: LoadResult | undefined): Exploration | undefined =>
  answer?.kind === 'loaded' ? answer.exploration : undefined
