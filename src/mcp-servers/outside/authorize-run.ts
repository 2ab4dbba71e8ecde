import type { RunAttemptApi } from '../../hub/contract/hub'
import type { AccountId, ActivationId, Clock } from '../../shared/ids'
import type { RunWorkspace, ToolRestrictions } from '../contract/tools'
import { toRepositoryName } from '../servers/git'
import { type ActivationTokens, callerErrors, tokenAudiences } from './activation-token'

interface RunAuthorizerDeps {
  hub: Pick<RunAttemptApi, 'readAttempt'>
  tokens: Pick<ActivationTokens, 'issue'>
  clock: Clock
  /** Returns the tool restrictions of a definition; null when it cannot be read. */
  readToolRestrictions(agent: string, etag: string): Promise<ToolRestrictions | null>
}

/** An attempt of a run that is about to be sent to the runner with a key. */
interface AttemptToAuthorize {
  activationId: ActivationId
  attempt: number
  agentId: AccountId
  /** Milliseconds since the epoch. */
  endsAt: number
  keyId: string
  /** As the run's order names it; null: none. */
  workspace: RunWorkspace | null
}

/**
 * Creates the function that issues the token of a run on a runner, when the activation runs, the attempt is its
 * current one and the runner's key is valid. It opens tools, the model gateway and the git proxy until the run
 * has to end.
 */
export function createRunAuthorizer({
  hub,
  tokens,
  clock,
  readToolRestrictions,
}: RunAuthorizerDeps) {
  /** @throws UNAVAILABLE, TOO_LARGE when no token can be issued */
  return async (asked: AttemptToAuthorize) => {
    const { activationId, attempt, agentId, endsAt, keyId } = asked
    const { activation, isKeyValid } = await hub.readAttempt(activationId, keyId)
    if (!isKeyValid) return { kind: 'key_ended' } as const
    if (activation?.id !== agentId || activation.runAttempt !== attempt) {
      return { kind: 'run_ended' } as const
    }
    const toolRestrictions = await readToolRestrictions(activation.name, activation.etag)
    if (!toolRestrictions) throw callerErrors.definitionUnreadable(activation.name)
    const claim = { accountId: agentId, activationId, audience: tokenAudiences, attempt }
    const workspace = asked.workspace && {
      repository: toNormalPath(asked.workspace.repository),
      push: asked.workspace.push,
    }
    const whole = { ...claim, toolRestrictions, workspace }
    const { token } = await tokens.issue(whole, clock.now(), endsAt)
    return { kind: 'issued', token } as const
  }
}

/** Names the repository as requests for it are named; a name that none can have opens nothing. */
function toNormalPath(repository: string): string {
  const [service = '', owner = '', file = ''] = repository.split('/')
  return `${service}/${toRepositoryName(service, owner, file) ?? ''}`
}
