import type {
  ActivationApi,
  ApprovalDecision,
  ApprovalRequest,
  ClaimedItem,
  CommitRequest,
  LoadedActivation,
  LoadRequest,
  LoadResult,
  ParkRequest,
  RenewResult,
  ResumedActivation,
  SteeringItem,
  Task,
} from '../../../src/hub/contract/hub'
import type { AccountId, ActivationId, InboxItemId, PostId } from '../../../src/shared/ids'
import { createThread } from '../../support/create-thread'

export const agentId = 'agent' as AccountId
const mira = { id: 'mira' as AccountId, name: 'mira', kind: 'human' } as const

const grants = {
  policy: { requested: ['hub:read'], allowed: ['*'], denied: [] },
  reservation: { microusd: 1_000_000, tokens: 50_000 },
  budgets: [],
  environment: { inboxDepth: 0, runningActivations: 1 },
}
const deadlineAt = Number.MAX_SAFE_INTEGER

interface Row {
  state: 'running' | 'parked' | 'done'
  task: Task
  item: Asked | null
  open: ApprovalRequest[]
  isCancelled: boolean
}

export interface Asked {
  id: InboxItemId
  /** Whether a running activation takes it, as a comment of its requester in its thread. */
  canJoin: boolean
  /** Whether a running activation took it. */
  hasJoined: boolean
  task: Task
  words: string
  claimedBy: ActivationId | null
  modelOverride: string | null
}

/** The hub side of an activation in memory, as in its contract; one agent, no limits. */
export class FakeHub {
  readonly rows = new Map<ActivationId, Row>()
  readonly asked: Asked[] = []
  readonly decided = new Map<string, ApprovalDecision>()
  readonly parks: ParkRequest[] = []
  readonly commits: CommitRequest[] = []
  /** What requesters were told while an activation ran. */
  readonly told: string[] = []
  readonly loads: LoadRequest[] = []
  /** The activations whose commits answered an item. */
  readonly answered: { id: InboxItemId; by: ActivationId }[] = []
  /** Whether a repeated LOAD returns a resumed activation again, or only that it is running. */
  repeatsResumed = true
  /** What LOAD returns of an activation that is already running. */
  other = { deadlineAt, reservedMicrousd: 0, reservedTokens: 0, model: 'fake/one' }
  /** Answers every renewal; null: they are granted. */
  refusal: RenewResult | null = null
  admission: LoadedActivation['admission'] = 'granted'
  /** The etag of the current definition. */
  etag = 'first'
  #resumedBy = new Map<ActivationId, ActivationId>()

  ask(words: string, task: Task = 'mention', modelOverride: string | null = null): void {
    this.#add({ words, task, modelOverride, canJoin: false })
  }

  /** The requester writes in the thread of the activation that may be running. */
  say(words: string): void {
    this.#add({ words, task: 'reply', modelOverride: null, canJoin: true })
  }

  #add(item: Pick<Asked, 'words' | 'task' | 'modelOverride' | 'canJoin'>): void {
    const id = `item-${this.asked.length}` as InboxItemId
    this.asked.push({ ...item, id, hasJoined: false, claimedBy: null })
  }

  /** What joined a running activation, with what waits for it. */
  #join(activationId: ActivationId): SteeringItem[] {
    if (this.rows.get(activationId)?.state !== 'running') return []
    for (const item of this.asked) {
      if (!item.canJoin || item.claimedBy !== null) continue
      item.claimedBy = activationId
      item.hasJoined = true
    }
    return this.asked
      .filter(({ claimedBy, hasJoined }) => claimedBy === activationId && hasJoined)
      .map(({ id, words }) => ({
        id,
        from: mira,
        commentId: null,
        text: words,
        isModeration: false,
        isUntrusted: false,
      }))
  }

  readonly api: ActivationApi = {
    load: async (request) => {
      this.loads.push(request)
      return this.#load(request)
    },
    renew: async ({ activationId }) =>
      this.refusal ??
      (this.rows.get(activationId)?.state === 'running'
        ? { kind: 'renewed', ...grants, steering: this.#join(activationId) }
        : { kind: 'refused', reason: 'lost' }),
    steer: async ({ activationId }) => this.#join(activationId),
    park: async (request) => this.#park(request),
    commit: async (request) => this.#commit(request),
    dropChangedRequests: async () => {},
    readConnections: async () => [],
    endOutage: async () => [],
    notifyRequesters: async ({ text }) => {
      this.told.push(text)
    },
    publishProgress: async () => {},
  }

  get waiting(): AccountId[] {
    return this.asked.some(({ claimedBy }) => claimedBy === null) || this.#findDecided()
      ? [agentId]
      : []
  }

  get isIdle(): boolean {
    const isWaiting = this.asked.some(({ claimedBy }) => claimedBy === null)
    return !isWaiting && [...this.rows.values()].every(({ state }) => state === 'done')
  }

  /** The calls that wait for approval. */
  listOpen(): { activationId: ActivationId; callId: string }[] {
    return [...this.rows].flatMap(([activationId, { state, open }]) =>
      state === 'parked'
        ? open
            .filter(({ callId }) => !this.decided.has(`${activationId}:${callId}`))
            .map(({ callId }) => ({ activationId, callId }))
        : [],
    )
  }

  decide(
    activationId: ActivationId,
    callId: string,
    decision: Partial<ApprovalDecision> = {},
  ): void {
    const full = { callId, decision: 'approved', by: 'tomas', note: '', ...decision } as const
    this.decided.set(`${activationId}:${callId}`, full)
  }

  #load({ activationId, canExplore, capacity }: LoadRequest): LoadResult {
    const own = this.rows.get(activationId)
    if (own) return own.state === 'running' ? this.#describe(own) : { kind: 'nothing' }
    if (capacity === 0) return { kind: 'wait', reason: 'capacity', retryAt: Date.now() + 2 }
    const running = [...this.rows].find(([, { state }]) => state === 'running')
    if (running) {
      const [otherId, row] = running
      if (this.repeatsResumed && this.#resumedBy.get(otherId) === activationId) {
        return this.#resume(otherId, row)
      }
      const other = { activationId: otherId, ...this.other }
      return { kind: 'wait', reason: 'already_running', retryAt: Date.now() + 2, other }
    }
    const decided = this.#findDecided()
    if (decided) {
      const [parkedId, row] = decided
      row.state = 'running'
      this.#resumedBy.set(parkedId, activationId)
      return this.#resume(parkedId, row)
    }
    const item = this.asked.find(({ claimedBy }) => claimedBy === null) ?? null
    if (!item && !canExplore) return { kind: 'nothing' }
    if (item) item.claimedBy = activationId
    const task = item?.task ?? 'exploration'
    const row: Row = { state: 'running', task, item, open: [], isCancelled: false }
    this.rows.set(activationId, row)
    return this.#describe(row)
  }

  #findDecided() {
    return [...this.rows].find(
      ([id, { state, open, isCancelled }]) =>
        state === 'parked' &&
        (isCancelled || open.every(({ callId }) => this.decided.has(`${id}:${callId}`))),
    )
  }

  #resume(activationId: ActivationId, { open, isCancelled }: Row): ResumedActivation {
    const decisions = open.flatMap(
      ({ callId }) => this.decided.get(`${activationId}:${callId}`) ?? [],
    )
    return {
      kind: 'resumed',
      activationId,
      admission: 'granted',
      decisions,
      isCancelled,
      deadlineAt,
      ...grants,
    }
  }

  #describe({ task, item }: Row): LoadedActivation {
    const isThread = task === 'mention' || task === 'reply'
    const postId = isThread ? ('post' as PostId) : null
    const content = item?.words ?? ''
    const claimed: ClaimedItem = {
      id: 'item' as InboxItemId,
      type: isThread ? 'mention' : 'task',
      from: mira,
      postId,
      commentId: null,
      content,
      createdAt: 1,
      savedBy: task === 'scheduled' ? mira.name : null,
    }
    return {
      kind: 'loaded',
      agent: { id: agentId, name: 'scout', kind: 'agent', description: '' },
      definition: { version: 1, etag: this.etag },
      admission: this.admission,
      task,
      items: item ? [claimed] : [],
      requesters: item ? [{ id: claimed.from.id, name: claimed.from.name, role: 'member' }] : [],
      hasUntrustedText: false,
      modelOverride: item?.modelOverride ?? null,
      model: item?.modelOverride ?? 'fake/one',
      thread: isThread ? createThread({ content, createdAt: 1 }) : null,
      deadlineAt,
      ...grants,
    }
  }

  /** Consumes what the activation started with and what it has read; releases what joined it unread. */
  #consume({ activationId: by, joined = [] }: CommitRequest): void {
    for (const item of this.asked.filter(({ claimedBy }) => claimedBy === by)) {
      if (!item.hasJoined || joined.includes(item.id)) this.answered.push({ id: item.id, by })
      else Object.assign(item, { claimedBy: null, hasJoined: false })
    }
  }

  #park(request: ParkRequest) {
    const row = this.rows.get(request.activationId)
    const { waiting } = this
    if (row?.state === 'parked') return { kind: 'parked' as const, waiting }
    if (row?.state !== 'running') return { kind: 'lost' as const, waiting }
    row.state = 'parked'
    row.open = request.approvals
    this.parks.push(request)
    return { kind: 'parked' as const, waiting: this.waiting }
  }

  #commit(request: CommitRequest) {
    const row = this.rows.get(request.activationId)
    const isFirst = row?.state === 'running'
    if (row && isFirst) {
      row.state = 'done'
      this.commits.push(request)
      this.#consume(request)
    }
    const kind = row?.state === 'done' ? ('done' as const) : ('lost' as const)
    return { kind, replyId: null, replyRefusal: null, waiting: this.waiting }
  }
}
