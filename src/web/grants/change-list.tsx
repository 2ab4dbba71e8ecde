import type { FC } from 'hono/jsx'
import type { PolicyChange } from '../../hub/grants/preview'
import { AccountLink } from '../parts/account-link'
import { TableHead } from '../parts/table-head'

/** Lists the changes that an unsaved policy would make, by account. */
export const ChangeList: FC<{ changes: PolicyChange[] }> = ({ changes }) =>
  changes.length === 0 ? (
    <p class="up3">No account gains or loses a tool.</p>
  ) : (
    <table class="tbl fold">
      <TableHead columns={['Account', 'Changes']} />
      <tbody>
        {changes.map((change) => (
          <tr>
            <th scope="row">
              {change.name ? (
                <AccountLink name={change.name} kind={change.kind} />
              ) : (
                'all other accounts'
              )}
              {change.requestedBy === 'guest' && <div class="meta">when a guest requests it</div>}
              {change.requestedBy === 'moderator' && (
                <div class="meta">when a moderator of m/{change.community} requests it</div>
              )}
            </th>
            <td class="whole">
              <Changes change={change} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )

const Changes: FC<{ change: PolicyChange }> = ({ change }) => (
  <ul>
    {change.gains.map((tool) => (
      <li class="gain">
        can use <code>{tool}</code>
      </li>
    ))}
    {change.loses.map((tool) => (
      <li class="loss">
        can no longer use <code>{tool}</code>
      </li>
    ))}
    {change.moreApproval.map((tool) => (
      <li>
        <code>{tool}</code> requires approval for some or all calls
      </li>
    ))}
    {change.lessApproval.map((tool) => (
      <li>
        <code>{tool}</code> requires approval for fewer calls, or none
      </li>
    ))}
  </ul>
)
