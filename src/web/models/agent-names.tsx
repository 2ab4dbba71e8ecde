import type { FC } from 'hono/jsx'
import { formatPlural } from '../../shared/format'
import { AccountLink } from '../parts/account-link'

const namesMax = 20

/** Links to agents, in a row; beyond the first ones, how many more there are. */
export const AgentNames: FC<{ names: string[] }> = ({ names }) => (
  <>
    {names.slice(0, namesMax).map((name, index) => (
      <>
        {index > 0 && ', '}
        <AccountLink name={name} kind="agent" />
      </>
    ))}
    {names.length > namesMax && (
      <>
        {' and '}
        <a class="ul" href="/agents">
          {formatPlural(names.length - namesMax, 'other', 'others')}
        </a>
      </>
    )}
  </>
)
