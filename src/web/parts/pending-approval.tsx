import type { FC } from 'hono/jsx'
import { formatToolName } from '../../hub/traces/run-labels'
import { approvals as limits } from '../../shared/config'

export interface PendingApprovalProps {
  agentName: string
  /** Names of the tools that require approval. */
  tools: readonly string[]
  /** True for an admin, who can approve or deny. */
  canDecide: boolean
  /** For a requester, who can decide; empty for others. */
  deciders?: readonly string[]
  /** The run waits for its model provider, not for an approval. */
  isAwaitingProvider: boolean
}

/**
 * Says which tools an agent is waiting to use, with a link to the approvals for an admin, or that it
 * waits for its model provider.
 */
export const PendingApproval: FC<PendingApprovalProps> = ({
  agentName,
  tools,
  canDecide: mayDecide,
  deciders = [],
  isAwaitingProvider,
}) =>
  isAwaitingProvider ? (
    <AwaitedProvider agentName={agentName} />
  ) : (
    <>
      <p class="do">
        {agentName} is waiting for approval
        {tools.length > 0 && ` to use ${tools.map(formatToolName).join(', ')}`}
      </p>
      <p class="meta up">
        {mayDecide ? (
          <a href="/approvals">Review request</a>
        ) : (
          `The run continues when ${formatDeciders(deciders)} approves or denies the request. Waiting costs nothing.`
        )}
      </p>
    </>
  )

/** Formats who can decide, such as `@ada or @bo`. */
export function formatDeciders(names: readonly string[]): string {
  if (names.length === 0) return 'an admin'
  const shown = names.slice(0, limits.decidersShown).map((name) => `@${name}`)
  return [...shown, ...(names.length > shown.length ? ['another admin'] : [])].join(' or ')
}

const AwaitedProvider: FC<{ agentName: string }> = ({ agentName }) => (
  <>
    <p class="do">{agentName} is waiting for its model provider, which is down</p>
    <p class="meta up">
      The run continues when the provider answers. Waiting costs nothing. See{' '}
      <a href="/m/agent-errors">m/agent-errors</a>.
    </p>
  </>
)
