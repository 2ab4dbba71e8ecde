import type { Definition } from '../definitions/definition'
import type { LoadedFacts, LoopEvent, LoopEventOf } from '../loop/event'
import { type EffectContext, findLoadedFacts, readDefinition } from './effect-context'

/** What a call is made for. */
export interface Work {
  facts: LoadedFacts
  definition: Definition
}

type WorkResult = { ok: true; work: Work } | { ok: false; failure: LoopEventOf<'model_failed'> }

/**
 * Returns what the current activation works on, or the failure of an effect whose definition is invalid.
 * LOAD has brought the connections of models; they are read again only after a crash.
 */
export async function readWork(context: EffectContext, effectId: number): Promise<WorkResult> {
  const { events } = context.getActivation()
  const facts = findLoadedFacts(events)
  if (!facts) throw new Error('a model call before LOAD')
  context.connections ??= await context.deps.hub.readConnections()
  const found = await readDefinition(context, facts.agentName, findDefinitionEtag(facts, events))
  if (!found.ok)
    return { ok: false, failure: toDefinitionFailure(context, effectId, found.message) }
  return { ok: true, work: { facts, definition: found.definition } }
}

/**
 * Returns the etag of the definition that an activation runs with: the one it was loaded with, or,
 * after it waited for its provider, the one it was resumed with, which may name another address.
 */
function findDefinitionEtag({ definition }: LoadedFacts, events: LoopEvent[]): string {
  let { etag } = definition
  let isAwaiting = false
  for (const event of events) {
    if (event.type === 'model_failed') isAwaiting = event.failure.outage !== undefined
    if (event.type === 'model_answered') isAwaiting = false
    if (event.type === 'resumed' && isAwaiting) etag = event.definitionEtag ?? etag
  }
  return etag
}

/** Returns the failure for an invalid definition. A retry cannot help, and no call was made. */
const toDefinitionFailure = (
  { deps }: EffectContext,
  effectId: number,
  message: string,
): LoopEventOf<'model_failed'> => {
  const at = deps.clock.now()
  const failure = {
    code: 'INVALID_DEFINITION',
    message,
    isRetryable: false,
    retryAfterMs: null,
    mayBeCharged: false,
  } as const
  return { type: 'model_failed', at, effectId, startedAt: at, failure, charge: null, jitter: 0 }
}
