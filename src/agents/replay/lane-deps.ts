import type { ModelConnection, ReplayApi } from '../../hub/contract/hub'
import type { ActivationId } from '../../shared/ids'
import type { AgentDeps } from '../effects/effect-context'
import type { HookSwitches } from '../hooks/hook'
import type { AgentHooks, HookRunner } from '../hooks/hook-runner'
import type { LoopEvent } from '../loop/event'
import type { RecoveryTurns } from '../recovery'
import { Lane } from './lane'
import { LaneHub } from './lane-hub'
import type { LaneStore } from './lane-store'
import { LaneTools } from './lane-tools'

/** Dependencies of the objects of lanes, provided by the composition root. */
export interface ReplayDeps {
  /** Those of agents. `tools` is the gateway; what notifies others is not used. */
  agent: AgentDeps
  replays: ReplayApi
  readConnections(): Promise<ModelConnection[]>
  /** The hooks of this deployment that are pure. */
  hooks: HookRunner
  /** Returns the names of those that are not, and would run. */
  listImpureHooks(switches: HookSwitches): string[]
  /** Starts lanes. A hint; never throws. */
  startLanes(laneIds: ActivationId[]): Promise<void>
}

interface LaneObject {
  store: LaneStore
  readEvents(): LoopEvent[]
  /** Lets the run ask for comments before it ends. */
  hintSteering(): void
}

/** Creates what stands behind the shell of a lane: the recorded run, in place of the hub and of tools. */
export function createLaneDeps(
  deps: ReplayDeps,
  object: LaneObject,
): { lane: Lane; agentDeps: AgentDeps } {
  const { exporter: _exporter, ...agent } = deps.agent
  const { replays } = deps
  const { clock, definitions } = agent
  const { store } = object
  const lane = new Lane({ replays, definitions, clock, ...object })
  const listSkippedHooks = () => {
    const { definition } = lane.opened
    return definition.ok ? deps.listImpureHooks(definition.definition.hooks) : []
  }
  const hub = new LaneHub({ ...deps, ...object, ...agent, lane, listSkippedHooks })
  const agentDeps: AgentDeps = {
    ...agent,
    hub,
    tools: new LaneTools({ lane, store, gateway: agent.tools, clock }),
    definitions: { read: async () => readOwn(lane) },
    hooks: { forAgent: (switches) => withoutRecorded(deps.hooks.forAgent(switches), store) },
    runners: noRunners,
    patches: { save: async () => undefined },
    wakeAgents: async () => undefined,
    lane: toTurnsOf(agent.lane, () => store.read('laneId') ?? ''),
    replayed: {
      readFacts: () => lane.opened.run.facts,
      toRunTime: (now) => lane.toRunTime(now),
      readStorageBytes: () => lane.opened.run.storageBytes,
    },
  }
  return { lane, agentDeps }
}

const noRunners: AgentDeps['runners'] = {
  start: async () => ({ kind: 'nobody' }),
  stop: async () => undefined,
  forgetSessions: async () => undefined,
}

/** Returns the definition of the lane, whichever the run asks for. */
async function readOwn(lane: Lane): ReturnType<AgentDeps['definitions']['read']> {
  const opened = await lane.open()
  if (!opened) return { ok: false, message: 'The replay has ended.' }
  const { definition } = opened
  if (definition.ok && definition.definition.executor !== 'native') {
    return { ok: false, message: 'A replay cannot run a coding agent.' }
  }
  return definition
}

/** A recorded result is as hooks have left it, so they do not see it again. */
const withoutRecorded = (hooks: AgentHooks, store: LaneStore): AgentHooks => ({
  ...hooks,
  afterToolCall: async (output, context) =>
    store.readCalls().get(output.callId)?.source === 'record'
      ? { value: output, timings: [] }
      : hooks.afterToolCall(output, context),
})

/** Returns the turns of a lane, which is no run of its agent. */
const toTurnsOf = (turns: RecoveryTurns, readId: () => string): RecoveryTurns => ({
  isHeldBack: () => turns.isHeldBack(readId()),
  begin: () => turns.begin(readId()),
  reset: () => turns.reset(readId()),
  ask: (_agent, starts) => turns.ask(readId(), starts),
  endTurn: () => turns.endTurn(readId()),
  get isStopping() {
    return turns.isStopping
  },
})
