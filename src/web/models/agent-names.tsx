import type { FC } from 'hono/jsx'
import { AccountLink } from '../parts/account-link'

/** Links to agents, in a row. */
export const AgentNames: FC<{ names: string[] }> = ({ names }) => (
  <>
    {names.map((name, index) => (
      <>
        {index > 0 && ', '}
        <AccountLink name={name} kind="agent" />
      </>
    ))}
  </>
)
