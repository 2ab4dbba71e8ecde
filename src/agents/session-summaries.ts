import type { ModelConnection } from '../hub/contract/hub'
import { compaction, manualCompaction } from '../shared/config'
import { cutText } from '../shared/cut-text'
import type { AccountId, Clock } from '../shared/ids'
import type { DefinitionSource } from './agent-deps'
import type { CompactionDraft, SessionAgent, SessionApi, SummaryResult } from './contract/agents'
import {
  type CallPlan,
  measurePromptSize,
  toCharge,
  toFailureCharge,
  worstCaseReservation,
} from './effects/price-call'
import { composeSummaryPrompt, limitSummary } from './effects/summary-prompt'
import { toUsage } from './model-api'
import type { Model, ModelRegistry } from './models/model-port'

interface SummaryDeps {
  definitions: DefinitionSource
  models: Pick<ModelRegistry, 'resolve'>
  clock: Clock
  /** Reads from the agent's object what a compaction replaces. */
  draft(agentId: AccountId, id: string, recordCharsMax: number): Promise<CompactionDraft | null>
}

type Part = CompactionDraft['parts'][number]

/** Creates the part of the sessions' API that asks the agent's model for a summary. */
export function createSessionSummaries(
  deps: SummaryDeps,
): Pick<SessionApi, 'planSummary' | 'summarize'> {
  const { draft: readDraft, clock } = deps
  return {
    async planSummary(agent, id, connections) {
      const found = await findModel(deps, agent, connections)
      const charsMax = found.model
        ? limitSummary(found.model).recordCharsMax
        : compaction.recordCharsMax
      const draft = await readDraft(agent.id, id, charsMax)
      if (!draft) return null
      if (draft.parts.length === 0) return { kind: 'extract', reason: null }
      const { model } = found
      if (!model) return { kind: 'extract', reason: found.reason }
      const worst = draft.parts.map((part) => {
        const call = planCall(model, part, neverAborted)
        return worstCaseReservation(call, call.request.maxOutputTokens)
      })
      return {
        ...{ kind: 'model', model: model.id, draft },
        microusd: worst.reduce((sum, { microusd }) => sum + microusd, 0),
        tokens: worst.reduce((sum, { tokens }) => sum + tokens, 0),
      }
    },

    async summarize(agent, { revision, parts }, connections) {
      const result: SummaryResult = { revision, texts: [], usages: [], failure: null }
      const { model, reason } = await findModel(deps, agent, connections)
      if (!model) return { ...result, failure: reason }
      const signal = AbortSignal.timeout(manualCompaction.timeoutMs)
      for (const part of parts) {
        const failure = await summarizePart(planCall(model, part, signal), part, clock, result)
        if (failure !== null) return { ...result, failure }
      }
      return result
    },
  }
}

const neverAborted = new AbortController().signal

/** Returns the model of an agent; null, with the reason, when it can write no summaries. */
async function findModel(
  { definitions, models }: SummaryDeps,
  { name, etag }: SessionAgent,
  connections: readonly ModelConnection[],
): Promise<{ model: Model | null; reason: string }> {
  const found = await definitions.read(name, etag)
  if (!found.ok) return { model: null, reason: found.message }
  const { model } = models.resolve(found.definition.brain, connections)
  return { model: model.isOffline ? null : model, reason: 'The offline model writes no summaries.' }
}

function planCall(model: Model, { record, summaryCharsMax }: Part, signal: AbortSignal): CallPlan {
  const messages = composeSummaryPrompt(record, summaryCharsMax)
  const maxOutputTokens = limitSummary(model).outputTokensMax
  const request = { messages, tools: [], maxOutputTokens, signal }
  return { model, request, ...measurePromptSize({ messages, tools: [] }) }
}

/** Adds the summary of a part to the result, with what the call took. Returns why there is none; null when there is. */
async function summarizePart(
  call: CallPlan,
  { owner, summaryCharsMax }: Part,
  clock: Clock,
  result: SummaryResult,
): Promise<string | null> {
  const startedAt = clock.now()
  const answered = await call.model.call(call.request)
  const durationMs = clock.now() - startedAt
  if (!answered.ok) {
    const charge = toFailureCharge(call, answered.failure, durationMs)
    if (charge) result.usages.push(toUsage(charge))
    return answered.failure.message
  }
  result.usages.push(toUsage(toCharge(call, answered.answer, durationMs)))
  const text = cutText(answered.answer.text.trim(), summaryCharsMax)
  if (text === '') return 'The model wrote no summary.'
  result.texts.push({ owner, text })
  return null
}
