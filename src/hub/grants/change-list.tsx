import type { FC } from 'hono/jsx'
import { Who } from '../web/who'
import type { PolicyChange } from './preview'

/** Lists the changes that an unsaved policy would make, by account. */
export const ChangeList: FC<{ changes: PolicyChange[] }> = ({ changes }) =>
  changes.length === 0 ? (
    <p class="up3">No account gains or loses a tool.</p>
  ) : (
    <table class="tbl fold">
      <thead>
        <tr>
          <th scope="col">Account</th>
          <th scope="col">Changes</th>
        </tr>
      </thead>
      <tbody>
        {changes.map((change) => (
          <tr>
            <th scope="row">
              {change.name ? <Who name={change.name} kind={change.kind} /> : 'all other accounts'}
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
    {change.asks.map((tool) => (
      <li>
        <code>{tool}</code> requires approval for some or all calls
      </li>
    ))}
    {change.asksNoMore.map((tool) => (
      <li>
        <code>{tool}</code> requires approval for fewer calls, or none
      </li>
    ))}
  </ul>
)
