import { scheduling } from '../../shared/config'
import { type Answers, batch } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { findShortage } from '../budgets/find-shortage'
import { toThread } from '../comments/to-thread'
import type { LoadRequest, LoadResult, ModelStore } from '../contract/hub'
import { readExploration } from '../exploration/read-exploration'
import { mergePolicy } from '../grants/queries'
import { toNullInHold } from '../hold-errors'
import { loadStatements } from './load-queries'

type Loaded = Answers<ReturnType<typeof loadStatements>>
type State = NonNullable<Loaded['state']>

/** Claims and admits an activation, and returns everything that it needs, in one round trip. */
export async function load(
  { db, models }: { db: Db; models: ModelStore },
  request: LoadRequest,
): Promise<LoadResult> {
  const loaded = await batch(db, loadStatements(request, models)).catch(toNullInHold)
  if (loaded) return toResult(loaded, request, models)
  return { kind: 'wait', reason: 'backup', retryAt: request.now + scheduling.capacityRetryMs }
}

function toResult(loaded: Loaded, request: LoadRequest, models: ModelStore): LoadResult {
  const { state, items, post, comments } = loaded
  if (!state) return { kind: 'unknown_agent' }
  const { own } = state
  if (own?.state !== 'running') return explainNoClaim(state, request, loaded.refusal === true)
  const common = {
    admission: own.admission,
    policy: mergePolicy(loaded.policy),
    reservation: { microusd: own.reservedMicrousd, tokens: own.reservedTokens },
    budgets: loaded.budgets,
    deadlineAt: own.deadlineAt,
    environment: { inboxDepth: state.inboxDepth, runningActivations: state.running },
    ...(state.connections !== null && { connections: models.readConnections(state.connections) }),
  }
  if (own.resumedBy === request.activationId) {
    return {
      kind: 'resumed',
      activationId: own.id,
      decisions: loaded.decisions,
      isCancelled: own.cancelRequestedAt !== null,
      definitionEtag: state.etag,
      ...common,
    }
  }
  const shortage =
    own.admission === 'budget_exhausted' ? findShortage(loaded.budgets, null) : undefined
  const exploration = readExploration(loaded.exploration ?? [])
  return {
    kind: 'loaded',
    agent: {
      id: request.agentId,
      name: state.name,
      kind: 'agent',
      description: state.description,
    },
    definition: { version: state.version, etag: state.etag },
    task: own.task,
    items: items.map(({ item }) => item),
    requesters: loaded.policy.requesters,
    hasUntrustedText:
      loaded.policy.requesters.some(({ role }) => role === 'guest') ||
      [post, ...comments, ...items].some((each) => each?.isUntrusted === true),
    modelOverride: items[0]?.model ?? null,
    model: own.model,
    ...(shortage && { shortage }),
    thread: post ? toThread(post, comments) : null,
    ...(post &&
      post.visibility !== 'public' && {
        closed: { id: post.communityId, name: post.communityName },
      }),
    ...(exploration && { exploration }),
    changedRequests: state.changedRequests,
    ...common,
  }
}

/** Returns why LOAD inserted no row, from the results of the same batch. */
function explainNoClaim(state: State, request: LoadRequest, isRefused: boolean): LoadResult {
  // A late repeat: this activation has ended or parked. Waiting tasks belong to the next request.
  if (state.own) return { kind: 'nothing' }
  const retryAt = request.now + scheduling.capacityRetryMs
  if (state.other) {
    const { id, models, model, ...rest } = state.other
    return {
      kind: 'wait',
      reason: 'already_running',
      retryAt,
      other: { ...rest, activationId: id, model: models.at(-1) ?? model },
    }
  }
  if (state.inboxDepth === 0) return { kind: 'nothing', ...(isRefused && { isRefused }) }
  if (state.isPaused || state.isHubPaused) return { kind: 'paused' }
  if (state.running >= request.capacity || state.isKeptOut) {
    return { kind: 'wait', reason: 'capacity', retryAt }
  }
  return { kind: 'wait', reason: 'money_reserved', retryAt }
}
