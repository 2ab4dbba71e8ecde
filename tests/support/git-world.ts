import type { RunningActivation } from '../../src/hub/contract/hub'
import type { ProgramCallRecorder } from '../../src/mcp-servers/contract/program-calls'
import type { ToolRestrictions } from '../../src/mcp-servers/contract/tools'
import { type TokenAudience, tokenAudiences } from '../../src/mcp-servers/outside/activation-token'
import type { AccountId, ActivationId } from '../../src/shared/ids'
import { ada, createFakeClock, createFakeHubApi } from './fake-hub-api'
import { fakeMemory } from './fake-memory'

/** What a test says about the hub before a request of git. */
export interface GitSetUp {
  serviceUrl?: string
  allowed?: string[]
  denied?: string[]
  requireApproval?: string[]
  isRunning?: boolean
  runAttempt?: number
  audience?: TokenAudience[]
  workspace?: { repository: string; push: string[] } | null
  toolRestrictions?: ToolRestrictions | null
  /** What the agent's object says of a push; absent: it runs. */
  record?: 'refused' | 'gone'
  /** Scopes of the key `rookery_key_of_ada`. */
  scopes?: string[]
}

const everything = ['github:read', 'github:write:acme/tools']

/** A hub on which the run `activation-git` of scout's works on a repository. */
export function createAuditedWork() {
  const hub = createFakeHubApi({ requested: ['*'], allowed: everything, denied: [] })
  const clock = createFakeClock()
  const scout = { id: 'account-scout' as AccountId, name: 'scout', kind: 'agent' as const }
  const activationId = 'activation-git' as ActivationId
  let current: GitSetUp = {}
  const running = (): RunningActivation => ({
    ...scout,
    postId: null,
    task: 'mention',
    requesterIds: [],
    closed: null,
    etag: 'etag',
    runAttempt: current.runAttempt ?? 1,
  })
  hub.hubApi.findActivation = async () => (current.isRunning === false ? null : running())
  hub.hubApi.findCaller = async () =>
    current.scopes ? { ...ada, keyId: 'key-of-ada', scopes: current.scopes } : null
  const readAuthorization = hub.hubApi.readAuthorization
  hub.hubApi.readAuthorization = async (...args) => {
    const facts = await readAuthorization(...args)
    const requireApproval = current.requireApproval ?? []
    return { ...facts, policy: { ...facts.policy, requireApproval } }
  }
  const calls: unknown[] = []
  const recorder: ProgramCallRecorder = {
    async beginCall(_activationId, { tool, isWrite, isPush, arguments: args }, attempt) {
      calls.push({ tool, isWrite, isPush, refs: JSON.parse(args).refs, attempt })
      if (current.record === 'gone') throw new Error('The object is not reachable.')
      if (current.record === 'refused') return { kind: 'refused', text: 'Error: This run is over.' }
      return { kind: 'run' }
    },
    awaitApproval: async () => 'over',
    endWait: async () => 'over',
    async endCall(_activationId, _callId, { isError, decision }) {
      calls.push({ isError, decision })
    },
  }
  const world = {
    hub,
    clock,
    /** Pushes as the agent's object was told of them, before they ran and after. */
    calls,
    recorder,
    serviceUrl: '',
    stores: {
      memory: fakeMemory,
      workspaceOf: () => ({}) as never,
      results: {} as never,
    },
    /** Returns the claim of the run's token. */
    setUp(next: GitSetUp) {
      current = next
      world.serviceUrl = next.serviceUrl ?? world.serviceUrl
      hub.policy.allowed = next.allowed ?? everything
      hub.policy.denied = next.denied ?? []
      hub.audit.clear()
      calls.length = 0
      return {
        accountId: scout.id,
        activationId,
        audience: next.audience ?? tokenAudiences,
        attempt: 1,
        toolRestrictions: next.toolRestrictions ?? null,
        workspace:
          next.workspace === undefined
            ? { repository: 'github/acme/tools', push: ['rookery/*'] }
            : next.workspace,
      }
    },
    takeAudit: () =>
      [...hub.audit.values()].map((entry) => ({
        ...entry,
        arguments: JSON.parse(entry.arguments ?? 'null'),
      })),
  }
  return world
}
