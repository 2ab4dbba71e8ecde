import type { GrantPolicy, LoadedActivation } from '../../hub/contract/hub'
import { memoryLimits } from '../../shared/config'
import type { Definition } from '../definitions/definition'
import type { LoadedFacts } from '../loop/event'
import type { Message } from '../loop/message'
import type { MemoryStore } from '../storage/memory-store'
import { buildBootstrapLayer } from './bootstrap-layer'
import { chooseSkills } from './choose-skills'
import { describeSession, toGoal, toSearchText } from './describe-session'
import { buildHistoryLayer } from './history-layer'
import { buildMemoryLayer } from './memory-layer'
import { buildSkillsLayer } from './skills-layer'
import { buildTaskLayer } from './task-layer'
import { buildToolGuideLayer } from './tool-guide-layer'

const charsPerToken = 4
/** Keeps the prompt within one journal row. */
const layerCharsMax = 300_000

export interface PromptSources {
  definition: Definition
  load: LoadedActivation
  toolNames: string[]
  contextTokens: number
  hubName: string
  memory: Pick<MemoryStore, 'readForPrompt'>
  isGranted(policy: GrantPolicy, grant: string): boolean
}

export type AssembledPrompt = Pick<
  LoadedFacts,
  'prompt' | 'historyFrom' | 'session' | 'notes' | 'goal'
>

/**
 * Assembles the first prompt from its layers, the stable ones first so that providers can cache them:
 * the definition's prompt, bootstrap, long-term memory, skills, tool guide, the session's history, the
 * task with its thread. Only text of the definition and the platform is in system messages. What
 * changes between steps is added at the end, by `statusTail`.
 */
export function assemblePrompt(sources: PromptSources): AssembledPrompt {
  const { definition, load, toolNames, contextTokens, memory } = sources
  const toCharsMax = (share: number) =>
    Math.min(contextTokens * share * charsPerToken, layerCharsMax)
  const { isEnabled, factsMax, retrieval } = definition.memory
  const words = isEnabled || definition.skills.length > 0 ? toSearchText(load) : ''
  const session = isEnabled ? describeSession(load) : null
  const memories =
    session && memory.readForPrompt({ sessionId: session.id, words, factsMax, retrieval })
  const { skills, notes } = chooseSkills(definition, load.policy, sources.isGranted)
  const community = load.thread?.post.community ?? null
  const head: Message[] = [
    ...toSystem(definition.systemPrompt),
    ...toSystem(buildBootstrapLayer(load, sources.hubName)),
    ...toUser(memories && buildMemoryLayer(memories, toCharsMax(memoryLimits.factsWindowShare))),
    ...toSystem(
      buildSkillsLayer(skills, { words, community }, toCharsMax(memoryLimits.skillsWindowShare)),
    ),
    ...toSystem(buildToolGuideLayer(toolNames)),
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
  }
}

const toSystem = (text: string | null): Message[] =>
  text === null ? [] : [{ role: 'system', text }]

const toUser = (text: string | null): Message[] => (text === null ? [] : [{ role: 'user', text }])
