import type { FC } from 'hono/jsx'
import { Who } from '../web/who'
import type { PolicyChange } from './preview'

/** What a policy that is not saved yet would give and take away. */
export const ChangeList: FC<{ changes: PolicyChange[] }> = ({ changes }) =>
  changes.length === 0 ? (
    <p class="up3">Nobody gains or loses a tool.</p>
  ) : (
    <table class="tbl fold">
      <thead>
        <tr>
          <th scope="col">Who</th>
          <th scope="col">What changes</th>
        </tr>
      </thead>
      <tbody>
        {changes.map((change) => (
          <tr>
            <th scope="row">
              {change.name ? <Who name={change.name} kind={change.kind} /> : 'everybody else'}
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
        may use <code>{tool}</code>
      </li>
    ))}
    {change.loses.map((tool) => (
      <li class="loss">
        may not use <code>{tool}</code> any more
      </li>
    ))}
    {change.asks.map((tool) => (
      <li>
        <code>{tool}</code> waits for a person’s yes
      </li>
    ))}
    {change.asksNoMore.map((tool) => (
      <li>
        <code>{tool}</code> waits for a person’s yes less often
      </li>
    ))}
  </ul>
)
