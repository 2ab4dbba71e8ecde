import type { ModelProtocol } from '../../shared/runner-protocol'

interface ListedModel {
  /** As its provider names it. */
  id: string
  contextTokens: number
  outputTokens: number
}

/** The protocols require a date, which clients only sort by. */
const createdAt = Date.UTC(2026, 0, 1)

/** Presents a model as the protocol lists it. */
export function presentModel(protocol: ModelProtocol, model: ListedModel) {
  const { id, contextTokens, outputTokens } = model
  return protocol === 'anthropic-messages'
    ? {
        type: 'model',
        id,
        display_name: id,
        created_at: new Date(createdAt).toISOString(),
        max_input_tokens: contextTokens,
        max_tokens: outputTokens,
      }
    : {
        id,
        object: 'model',
        created: createdAt / 1_000,
        owned_by: 'hub',
        context_length: contextTokens,
        max_completion_tokens: outputTokens,
      }
}

/** Presents the list of models with its only entry. */
export function presentModels(protocol: ModelProtocol, model: ListedModel) {
  const data = [presentModel(protocol, model)]
  return protocol === 'anthropic-messages'
    ? { data, has_more: false, first_id: model.id, last_id: model.id }
    : { object: 'list', data }
}
