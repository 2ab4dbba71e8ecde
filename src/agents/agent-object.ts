import { DurableObject } from 'cloudflare:workers'
import type { ApprovalRequest, ChangedRequest, Privacy } from '../hub/contract/hub'
import { closeForStop, closeSender } from '../hub/contract/live-event'
import type {
  ProgramCall,
  ProgramCallRecorder,
  ProgramCallResult,
} from '../mcp-servers/contract/program-calls'
import type { FactQuery, NewFact, NewTask, OpenTask } from '../mcp-servers/contract/tools'
import { memoryLimits } from '../shared/config'
import type { AccountId, ActivationId, Clock } from '../shared/ids'
import type { RunReport } from '../shared/runner-protocol'
import { AgentShell, type WakeHint } from './agent-shell'
import type {
  AgentState,
  KnowledgeView,
  PrivateChange,
  PrivatePage,
  SessionSnapshot,
  SessionSummaries,
  TextDeletion,
} from './contract/agents'
import type {
  ModelRequestArbiter,
  ModelRequestFacts,
  ModelRequestResult,
  RunnerApi,
  RunReceiver,
} from './contract/coding-agents'
import type { AgentDeps } from './effects/effect-context'
import { deleteTexts, forgetRequests } from './memory/delete-texts'
import { FactStore, KnowledgeStore, PrivateFacts } from './memory/fact-store'
import { MemoryStore } from './memory/memory-store'
import { deleteProgramSessions, resetProgramSessions } from './memory/program-sessions'
import { SessionStore } from './memory/session-store'
import { ActivationStream, readWatchRequest } from './run/live-stream'
import { readTables, replaceTables } from './storage/transfer'

/**
 * One agent's Durable Object: its RPC methods. The loop is in its shell, which uses this object's
 * storage.
 */
export class AgentObjectBase<Env>
  extends DurableObject<Env>
  implements RunReceiver, ModelRequestArbiter, ProgramCallRecorder
{
  protected readonly shell: AgentShell
  readonly #memory: MemoryStore
  readonly #stream: ActivationStream
  readonly #facts: FactStore
  readonly #privateFacts: PrivateFacts
  readonly #sessions: SessionStore
  readonly #knowledge: KnowledgeStore
  readonly #clock: Clock
  readonly #runners: Pick<RunnerApi, 'forgetSessions'>

  constructor(ctx: DurableObjectState, env: Env, deps: AgentDeps) {
    super(ctx, env)
    const memory = new MemoryStore(ctx.storage.sql)
    this.#memory = memory
    this.#facts = new FactStore(memory)
    this.#privateFacts = new PrivateFacts(memory)
    this.#sessions = new SessionStore(memory)
    this.#knowledge = new KnowledgeStore(memory)
    this.#clock = deps.clock
    this.#runners = deps.runners
    this.#stream = new ActivationStream(ctx, deps.mask)
    this.shell = new AgentShell(ctx.storage, deps, this.#stream, memory)
  }

  /**
   * Wakes the agent to check for tasks; with `canExplore` it explores when there are none, and with `maySteer`
   * the running activation looks for comments that join it. Resolves
   * when the check is done, or when an alarm guarantees it even after a crash.
   */
  async wake(agentId: AccountId, hint: WakeHint = {}): Promise<void> {
    this.shell.wake(agentId, hint)
    await this.shell.waitUntilDurable()
  }

  override alarm(): Promise<void> {
    return this.shell.alarm()
  }

  /** Cancels the activation. Returns false when it has ended or is not this agent's current one. */
  async cancel(activationId: ActivationId): Promise<boolean> {
    return this.shell.cancel(activationId)
  }

  /** Answers the WebSocket upgrade of a watcher of an activation. */
  override fetch(request: Request): Response {
    this.ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair('ping', 'pong'))
    return this.shell.watch(request, readWatchRequest(request))
  }

  /** Deletes what this object stores of an account's words. */
  async deleteTexts(request: TextDeletion): Promise<void> {
    deleteTexts(this.#memory, request)
    const sessions = deleteProgramSessions(this.#memory, request)
    this.shell.deleteRuns(request.runs.map(({ id }) => id))
    if (sessions.length > 0) await this.#runners.forgetSessions(sessions)
  }

  /** Deletes what sessions hold of runs whose request or answer changed since. Returns false while the agent runs. */
  async forgetRequests(changed: ChangedRequest[]): Promise<boolean> {
    // What the run has read is stored when it ends.
    if (!this.shell.readActivation().isCommitted) return false
    const sessions = forgetRequests(this.#memory, changed)
    if (sessions.length > 0) await this.#runners.forgetSessions(sessions)
    return true
  }

  /** Closes the sockets with any of the tags. */
  disconnect(tags: string[]): void {
    this.#stream.disconnect(tags)
  }

  /** Closes all sockets with 1001, before the hub stops. */
  announceStop(): void {
    for (const socket of this.ctx.getWebSockets()) closeForStop(socket)
  }

  /** Returns how many sockets of an account or address are open. */
  countSockets(ownerTag: string): number {
    return this.#stream.countSockets(ownerTag)
  }

  /** Closes the socket of a watcher that sends: watchers only receive. */
  override webSocketMessage(socket: WebSocket): void {
    closeSender(socket)
  }

  override webSocketClose(socket: WebSocket, code: number): void {
    // 1005 and 1006 stand for a missing code and must not be sent.
    socket.close(code === 1005 || code === 1006 ? 1000 : code)
  }

  rememberFact(fact: NewFact) {
    return this.#facts.save(fact, this.#clock.now())
  }

  deleteFact(fact: { id: number } & Pick<Privacy, 'reader'>): boolean {
    return this.#facts.delete(fact, this.#clock.now())
  }

  listFacts(query: FactQuery) {
    const { at, ...asked } = query
    return at === undefined
      ? this.#facts.list(asked)
      : this.#facts.listThen(asked, at, this.#clock.now())
  }

  addTask(task: NewTask) {
    return this.#facts.addTask(task, this.#clock.now())
  }

  completeTask(task: { id: number; note: string } & Pick<Privacy, 'reader'>): OpenTask | null {
    return this.#facts.completeTask(task, this.#clock.now())
  }

  readSkill(name: string): Promise<string | null> {
    return this.shell.readSkill(name)
  }

  listPrivateFacts(owner: AccountId, before: number | null, limit: number) {
    return this.#privateFacts.list(owner, before, limit)
  }

  changePrivateFact(owner: AccountId, id: number, change: PrivateChange) {
    return this.#privateFacts.change(owner, id, change, this.#clock.now())
  }

  listKnowledge(view: KnowledgeView, page: Pick<PrivatePage, 'before' | 'limit'>) {
    const { sessions } = this.#sessions.list(noLimit)
    return this.#knowledge.list(view, sessions, {
      ...page,
      sessionsMax: memoryLimits.sessionsListed,
    })
  }

  changeKnowledge(view: KnowledgeView, change: Parameters<KnowledgeStore['change']>[1]) {
    return this.#knowledge.change(view, change, this.#clock.now())
  }

  listSessions(sessionsMax: number) {
    return this.#sessions.list(sessionsMax)
  }

  readSession(id: string) {
    return this.#sessions.read(id)
  }

  restoreSession(id: string, snapshot: SessionSnapshot): boolean {
    return this.#sessions.restore(id, snapshot, this.#clock.now())
  }

  async resetSession(id: string): Promise<boolean> {
    const sessions = resetProgramSessions(this.#memory, id)
    const isReset = this.#sessions.reset(id)
    if (sessions.length > 0) await this.#runners.forgetSessions(sessions)
    return isReset
  }

  draftCompaction(id: string, recordCharsMax: number) {
    return this.#sessions.draftCompaction(id, recordCharsMax)
  }

  compactSession(id: string, summaries: SessionSummaries | null) {
    return this.#sessions.compact(id, summaries)
  }

  receiveReports(id: ActivationId, attempt: number, first: number, reports: RunReport[]) {
    return this.shell.desk.receiveReports(id, attempt, first, reports)
  }

  loseRun(id: ActivationId, attempt: number, reason: string) {
    return this.shell.desk.loseRun(id, attempt, reason)
  }

  admitRequest(id: ActivationId, facts: ModelRequestFacts) {
    return this.shell.desk.admitRequest(id, facts)
  }

  readRunModel(id: ActivationId) {
    return this.shell.desk.readRunModel(id)
  }

  settleRequest(id: ActivationId, request: number, result: ModelRequestResult) {
    return this.shell.desk.settleRequest(id, request, result)
  }

  noteToolsListed(id: ActivationId, attempt?: number) {
    return this.shell.desk.noteToolsListed(id, attempt)
  }

  beginCall(id: ActivationId, call: ProgramCall, attempt?: number) {
    return this.shell.desk.beginCall(id, call, attempt)
  }

  awaitApproval(id: ActivationId, callId: string, approval: ApprovalRequest, attempt?: number) {
    return this.shell.desk.awaitApproval(id, callId, approval, attempt)
  }

  endWait(id: ActivationId, callId: string, attempt?: number) {
    return this.shell.desk.endWait(id, callId, attempt)
  }

  endCall(id: ActivationId, callId: string, result: ProgramCallResult) {
    return this.shell.desk.endCall(id, callId, result)
  }

  /** Returns all that is stored here, as JSON. */
  readTables(): string {
    return readTables(this.ctx.storage.sql)
  }

  /** Replaces all that is stored here, or returns why not; call `restart` after it. */
  async replaceTables(
    agentId: AccountId,
    content: string,
    isTrial: boolean,
  ): Promise<string | null> {
    const { storage } = this.ctx
    const refusal = replaceTables(storage, agentId, content, isTrial)
    await storage.sync()
    return refusal
  }

  /** Ends this instance: the next call finds one that has read what is stored. */
  restart(): void {
    this.ctx.abort('restarted')
  }

  readState(): AgentState {
    return this.shell.readState()
  }

  readRunLog(activationId: ActivationId): string | null {
    return this.shell.readRunLog(activationId)
  }
}

/** SQLite's LIMIT for all rows. */
const noLimit = -1
