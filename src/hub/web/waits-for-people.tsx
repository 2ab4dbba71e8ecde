import type { FC } from 'hono/jsx'
import { sayTool } from './agent-words'

export interface WaitsForPeopleProps {
  agentName: string
  /** Names of the tools that require approval. */
  tools: readonly string[]
  /** True for an admin, who can approve or deny. */
  mayDecide: boolean
}

/** Says which tools an agent is waiting to use, with a link to the approvals for an admin. */
export const WaitsForPeople: FC<WaitsForPeopleProps> = ({ agentName, tools, mayDecide }) => (
  <>
    <p class="do">
      {agentName} is waiting for approval
      {tools.length > 0 && ` to use ${tools.map(sayTool).join(', ')}`}
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
