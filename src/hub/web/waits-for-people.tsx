import type { FC } from 'hono/jsx'
import { sayTool } from './agent-words'

/** That an agent waits for a person's word, what for, and where to give it for those who may. */
export const WaitsForPeople: FC<{
  agentName: string
  tools: readonly string[]
  mayDecide: boolean
}> = ({ agentName, tools, mayDecide }) => (
  <>
    <p class="do">
      {agentName} waits for approval
      {tools.length > 0 && ` to use ${tools.map(sayTool).join(', ')}`}
    </p>
    <p class="meta up">
      {mayDecide ? (
        <a href="/approvals">See what it would do, and decide</a>
      ) : (
        'It goes on when somebody has decided. Waiting costs nothing.'
      )}
    </p>
  </>
)
