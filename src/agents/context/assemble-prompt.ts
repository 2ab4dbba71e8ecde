import { memoryLimits } from '../../config'
import type { GrantPolicy, Load } from '../../hub/contract'
import type { Definition } from '../definitions/definition'
import type { LoadedFacts } from '../loop/event'
import type { Message } from '../loop/message'
import type { MemoryStore } from '../storage/memory-store'
import { bootstrapLayer } from './bootstrap-layer'
import { chooseSkills } from './choose-skills'
import { askedWords, describeSession } from './describe-session'
import { historyLayer } from './history-layer'
import { memoryLayer } from './memory-layer'
import { skillsLayer } from './skills-layer'
import { taskLayer } from './task-layer'
import { toolGuideLayer } from './tool-guide-layer'

const charsPerToken = 4
/** A prompt is journaled as one row. */
const layerCharsMax = 300_000

export interface PromptSources {
  definition: Definition
  load: Load
  toolNames: string[]
  contextTokens: number
  hubName: string
  memory: Pick<MemoryStore, 'readForPrompt'>
  isGranted(policy: GrantPolicy, grant: string): boolean
}

export type Assembled = Pick<LoadedFacts, 'prompt' | 'historyFrom' | 'session' | 'notes'>

/**
 * The layers of the first prompt, the stable ones first: soul, bootstrap, long-term memory, skills,
 * tool guide, the session's history, the task with its thread (L11). Only the definition's and the
 * platform's own words are system messages (L16). What changes between steps is added at the end, by
 * `statusTail` (L14).
 */
export function assemblePrompt(sources: PromptSources): Assembled {
  const { definition, load, toolNames, contextTokens, memory } = sources
  const room = (share: number) => Math.min(contextTokens * share * charsPerToken, layerCharsMax)
  const { isEnabled, factsMax, retrieval } = definition.memory
  const words = isEnabled || definition.skills.length > 0 ? askedWords(load) : ''
  const session = isEnabled ? describeSession(load) : null
  const memories =
    session && memory.readForPrompt({ sessionId: session.id, words, factsMax, retrieval })
  const { skills, notes } = chooseSkills(definition, load.policy, sources.isGranted)
  const community = load.thread?.post.community ?? null
  const head: Message[] = [
    ...system(definition.systemPrompt),
    ...system(bootstrapLayer(load, sources.hubName)),
    ...user(memories && memoryLayer(memories, room(memoryLimits.factsWindowShare))),
    ...system(skillsLayer(skills, { words, community }, room(memoryLimits.skillsWindowShare))),
    ...system(toolGuideLayer(toolNames)),
  ]
  const history = memories
    ? historyLayer(memories, room(memoryLimits.historyWindowShare), toolNames.length > 0)
    : []
  const task = taskLayer(load, room(memoryLimits.threadWindowShare))
  return {
    prompt: [...head, ...history, ...user(task)],
    historyFrom: head.length,
    ...(session && { session }),
    ...(notes.length > 0 && { notes }),
  }
}

const system = (text: string | null): Message[] => (text === null ? [] : [{ role: 'system', text }])

const user = (text: string | null): Message[] => (text === null ? [] : [{ role: 'user', text }])
