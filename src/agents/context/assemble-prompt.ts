import type { GrantPolicy, LoadedActivation } from '../../hub/contract/hub'
import type { DataOwner } from '../../hub/contract/privacy'
import type { ServerInstructions } from '../../mcp-servers/contract/tools'
import { memoryLimits } from '../../shared/config'
import type { Definition } from '../definitions/definition'
import type { LoadedFacts } from '../loop/event'
import type { Message } from '../loop/message'
import type { MemoryStore } from '../memory/memory-store'
import { buildBootstrapLayer } from './bootstrap-layer'
import { chooseSkills } from './choose-skills'
import { describeSession, toGoal, toSearchText } from './describe-session'
import { buildHistoryLayer } from './history-layer'
import { buildMemoryLayer } from './memory-layer'
import { buildSkillsLayer } from './skills-layer'
import { buildTaskLayer } from './task-layer'
import { buildToolGuideLayer } from './tool-guide-layer'
import { buildToolServersLayer } from './tool-servers-layer'

const charsPerToken = 4
/** Keeps the prompt within one journal row. */
const layerCharsMax = 300_000

export interface PromptSources {
  definition: Definition
  load: LoadedActivation
  /** The account whose private memory is included; null: nobody's. */
  reader: DataOwner | null
  toolNames: string[]
  /** Those that the model does not take beside them. */
  leftOutTools?: string[]
  /** What the servers of these tools say about their use. */
  instructions: ServerInstructions[]
  contextTokens: number
  hubName: string
  memory: Pick<MemoryStore, 'readForPrompt'>
  isGranted(policy: GrantPolicy, grant: string): boolean
}

export type AssembledPrompt = Pick<
  LoadedFacts,
  'prompt' | 'historyFrom' | 'session' | 'notes' | 'goal' | 'hasPrivate' | 'hasUntrusted'
>

/**
 * Assembles the first prompt from its layers, the stable ones first so that providers can cache them:
 * the definition's prompt, bootstrap, long-term memory, skills, tool guide, instructions of tool servers, the session's history, the
 * task with its thread. Only text of the definition and the platform is in system messages. What
 * changes between steps is added at the end, by `statusTail`.
 */
export function assemblePrompt(sources: PromptSources): AssembledPrompt {
  const { definition, load, reader, toolNames, leftOutTools, contextTokens, memory } = sources
  const toCharsMax = (share: number) =>
    Math.min(contextTokens * share * charsPerToken, layerCharsMax)
  const { isEnabled, factsMax, retrieval } = definition.memory
  const words = isEnabled || definition.skills.length > 0 ? toSearchText(load) : ''
  const session = isEnabled ? describeSession(load) : null
  const memories =
    session && memory.readForPrompt({ sessionId: session.id, reader, words, factsMax, retrieval })
  const { skills, notes } = chooseSkills(definition, load.policy, sources.isGranted)
  const community = load.thread?.post.community ?? null
  const head: Message[] = [
    ...toSystem(definition.systemPrompt),
    ...toSystem(buildBootstrapLayer(load, sources.hubName)),
    ...toUser(
      memories &&
        mayRecall(sources) &&
        buildMemoryLayer(memories, toCharsMax(memoryLimits.factsWindowShare)),
    ),
    ...toSystem(
      buildSkillsLayer(skills, { words, community }, toCharsMax(memoryLimits.skillsWindowShare)),
    ),
    ...toSystem(buildToolGuideLayer(toolNames, leftOutTools)),
    ...toUser(
      buildToolServersLayer(sources.instructions, toCharsMax(memoryLimits.skillsWindowShare)),
    ),
  ]
  const history = memories
    ? buildHistoryLayer(memories, toCharsMax(memoryLimits.historyWindowShare), toolNames.length > 0)
    : []
  const goal = toGoal(load)
  const task = buildTaskLayer(load, toCharsMax(memoryLimits.threadWindowShare))
  return {
    prompt: [...head, ...history, ...toUser(task)],
    historyFrom: head.length,
    ...(session && { session }),
    ...(notes.length > 0 && { notes }),
    ...(goal !== '' && { goal }),
    ...(memories?.hasPrivate && { hasPrivate: true }),
    ...(memories?.hasUntrusted && { hasUntrusted: true }),
  }
}

/**
 * Whether the prompt includes what the agent remembers of other threads. A guest could make it repeat
 * that, so a guest's run needs the grant to read memory.
 */
const mayRecall = ({ load, isGranted }: PromptSources): boolean =>
  load.requesters.every(({ role }) => role !== 'guest') || isGranted(load.policy, 'memory:read')

const toSystem = (text: string | null): Message[] =>
  text === null ? [] : [{ role: 'system', text }]

const toUser = (text: string | null | false): Message[] =>
  text === null || text === false ? [] : [{ role: 'user', text }]
