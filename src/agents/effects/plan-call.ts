import { createStatusPlaceholder } from '../context/status-tail'
import type { Definition } from '../definitions/definition'
import type { Effect } from '../loop/effect'
import { outputTokensFloor } from '../loop/estimate'
import type { Message } from '../loop/message'
import { buildTranscript } from '../loop/transcript'
import type { Model } from '../models/model-port'
import { composeStatus } from './compose-status'
import { type EffectContext, listTools, resolveModel } from './effect-context'
import { findRatio } from './model-ratios'
import { addPromptSizes, type CallPlan, measurePromptSize, type PromptSize } from './price-call'
import type { Work } from './read-work'

export type CallEffect = Extract<Effect, { type: 'call_model' }>

/**
 * A model call that continues the conversation. The status and the tools, which follow the
 * conversation, are rebuilt after every renewal.
 */
export interface ConversationPlan extends CallPlan {
  conversation: PromptSize
}

/** Returns the request of the next model call, with the size of its prompt. */
export function planCall(
  context: EffectContext,
  { facts, definition }: Work,
  { mustRenew }: CallEffect,
  signal: AbortSignal,
): ConversationPlan {
  const { model } = resolveModel(context, definition, facts)
  const messages = buildTranscript(context.getActivation().events)
  const conversation = sizeConversation(context, messages)
  const status = mustRenew ? createStatusPlaceholder(context.deps.hubName) : composeStatus(context)
  messages.push(status)
  const { tools } = listTools(context, facts, model)
  const size = addPromptSizes(conversation, measurePromptSize({ messages: [status], tools }))
  const { temperature, topP } = definition.brain
  return {
    model,
    conversation,
    ...size,
    ...findRatio(context, model.id),
    request: {
      messages,
      tools,
      maxOutputTokens: capOutput(context, model, definition, size),
      ...(temperature === undefined ? {} : { temperature }),
      ...(topP === undefined ? {} : { topP }),
      cacheKey: context.agentId,
      signal,
    },
  }
}

/** Returns the most tokens that the answer may have. */
const capOutput = (
  context: EffectContext,
  model: Model,
  { limits }: Definition,
  size: PromptSize,
): number => {
  const { state } = context.getActivation()
  // the provider's count of earlier messages is more accurate than a lower estimate
  const promptTokens = Math.max(state.promptTokens, size.promptTokens)
  return Math.min(
    model.outputTokensMax,
    limits.outputTokens,
    // providers refuse a prompt and an answer that together exceed the window
    Math.max(outputTokensFloor, model.contextTokens - promptTokens),
    // the token limit of the activation
    Math.max(outputTokensFloor, state.limits.tokens - state.tokens - promptTokens),
  )
}

/**
 * Returns the size of the messages. The first prompt was measured before, unless another machine
 * resumed the activation or a compaction changed it.
 */
function sizeConversation({ firstPrompt: first }: EffectContext, messages: Message[]): PromptSize {
  const startsWithFirst = first?.messages.every((message, index) => message === messages[index])
  if (!first || !startsWithFirst) return measurePromptSize({ messages, tools: [] })
  const rest = messages.slice(first.messages.length)
  return addPromptSizes(first.size, measurePromptSize({ messages: rest, tools: [] }))
}

/** Rebuilds status and tools after a renewal, which returns the current policy and budgets. */
export function updatePlan(
  context: EffectContext,
  { facts, definition }: Work,
  plan: ConversationPlan,
): void {
  const { request } = plan
  const status = composeStatus(context)
  request.messages[request.messages.length - 1] = status
  request.tools = listTools(context, facts, plan.model).tools
  const rest = measurePromptSize({ messages: [status], tools: request.tools })
  Object.assign(plan, addPromptSizes(plan.conversation, rest))
  request.maxOutputTokens = capOutput(context, plan.model, definition, plan)
}
