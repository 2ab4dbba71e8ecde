import type { FC } from 'hono/jsx'
import { formatToolName } from '../../hub/activations/run-labels'

export interface PendingApprovalProps {
  agentName: string
  /** Names of the tools that require approval. */
  tools: readonly string[]
  /** True for an admin, who can approve or deny. */
  canDecide: boolean
}

/** Says which tools an agent is waiting to use, with a link to the approvals for an admin. */
export const PendingApproval: FC<PendingApprovalProps> = ({
  agentName,
  tools,
  canDecide: mayDecide,
}) => (
  <>
    <p class="do">
      {agentName} is waiting for approval
      {tools.length > 0 && ` to use ${tools.map(formatToolName).join(', ')}`}
    </p>
    <p class="meta up">
      {mayDecide ? (
        <a href="/approvals">Review request</a>
      ) : (
        'The run continues when an admin approves or denies the request. Waiting costs nothing.'
      )}
    </p>
  </>
)
