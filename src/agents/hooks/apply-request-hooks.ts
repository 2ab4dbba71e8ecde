import type { Message } from '../loop/message'
import type { ModelRequest } from '../models/model-port'
import type { HookContext, ModelCall } from './hook'
import type { AgentHooks } from './hook-runner'
import type { HookResult } from './run-hooks'

type Prompt = Pick<ModelRequest, 'messages' | 'tools'>

/**
 * Runs an agent's hooks on a model request. They may change the first system message and the tools, and
 * add lines to the last message, which is the status. The messages in between stay unchanged.
 */
export async function applyRequestHooks(
  hooks: AgentHooks,
  prompt: Prompt,
  context: HookContext,
): Promise<HookResult<Prompt>> {
  const first = prompt.messages[0]
  const systemPrompt = first?.role === 'system' ? first.text : ''
  const call: ModelCall = { systemPrompt, tools: prompt.tools, status: [] }
  const { value, timings } = await hooks.beforeModelCall(call, context)
  return { value: value === call ? prompt : applyChange(prompt, systemPrompt, value), timings }
}

function applyChange({ messages }: Prompt, systemPrompt: string, call: ModelCall): Prompt {
  let changed = messages
  if (call.systemPrompt !== systemPrompt) {
    const rest = systemPrompt === '' ? messages : messages.slice(1)
    changed = [{ role: 'system', text: call.systemPrompt }, ...rest]
  }
  return { messages: addStatus(changed, call.status), tools: call.tools }
}

function addStatus(messages: Message[], lines: readonly string[]): Message[] {
  const last = messages.at(-1)
  if (lines.length === 0) return messages
  const text = lines.join('\n')
  if (last?.role !== 'user') return [...messages, { role: 'user', text }]
  return [...messages.slice(0, -1), { role: 'user', text: `${last.text}\n${text}` }]
}
