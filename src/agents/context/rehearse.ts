import type { DefinitionFiles } from '../contract/agents'
import type { Rehearsal } from '../contract/schedules'
import { readDefinition } from '../definitions/read-definition'
import { findCallsMax } from '../loop/admit-calls'
import type { Message } from '../loop/message'
import { createOfflineModel } from '../models/offline/offline-model'
import { searchTool } from '../models/offline/parse-task'
import { buildBootstrapLayer } from './bootstrap-layer'
import { buildSkillsLayer } from './skills-layer'
import { buildScheduledTask } from './task-layer'

const skillCharsMax = 20_000

/**
 * Composes the prompt of a scheduled run and asks the offline model for its first step. The prompt lacks what
 * only a run has: memory, history and the guide to its tools. Null for files that are not valid.
 */
export async function rehearse(
  files: DefinitionFiles,
  task: string,
  hubName: string,
): Promise<Rehearsal | null> {
  const read = readDefinition(files)
  if (!read.ok) return null
  const { name, systemPrompt, skills, limits } = read.definition
  const words = { words: task, community: null }
  const texts: [Message['role'] & ('system' | 'user'), string | null][] = [
    ['system', systemPrompt],
    ['system', buildBootstrapLayer({ agent: { name } }, hubName)],
    ['system', buildSkillsLayer(skills, words, skillCharsMax)],
    ['user', buildScheduledTask(task)],
  ]
  const messages = texts.flatMap(([role, text]) => (text === null ? [] : [{ role, text }]))
  const outcome = await createOfflineModel().call({
    messages,
    tools: [{ name: searchTool, description: '', inputSchema: {} }],
    maxOutputTokens: 4_096,
    signal: new AbortController().signal,
  })
  if (!outcome.ok) return null
  const [call] = outcome.answer.calls
  return {
    prompt: messages,
    stepsMax: limits.iterations,
    toolCallsMax: findCallsMax(limits),
    firstStep: call
      ? { tool: call.name, arguments: call.arguments }
      : { answer: outcome.answer.text },
  }
}
