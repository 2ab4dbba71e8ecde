import type { RequestParameters } from '../loop/event'
import type { EffectContext } from './effect-context'
import type { CallPlan } from './price-call'

/**
 * Returns the parameters of a model call for the journal. The messages follow from the journal, but
 * for the last one.
 */
export function recordRequest(
  context: EffectContext,
  { model, request }: CallPlan,
): RequestParameters {
  const { messages, tools, maxOutputTokens, temperature, topP } = request
  const { activationId } = context.getActivation().state
  const names = tools.map(({ name }) => name)
  const last = context.lastTools
  const isSame = last?.activationId === activationId && last.names.join() === names.join()
  context.lastTools = { activationId, names }
  const status = messages.at(-1)
  return {
    model: model.id,
    maxOutputTokens,
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(isSame ? {} : { tools: names }),
    status: status && 'text' in status ? status.text : '',
  }
}
