import type { FC } from 'hono/jsx'
import type { FeedbackRow } from '../../hub/run-feedback/queries'
import { activationPath } from '../../shared/paths'
import { AccountLink } from '../parts/account-link'
import { RelativeTime } from '../parts/relative-time'

/** Lists what people noted about answers; feedback without a note is counted elsewhere. */
export const FeedbackList: FC<{ rows: FeedbackRow[]; now: number; hasRun?: boolean }> = (props) => {
  const noted = props.rows.filter(({ note }) => note !== '')
  return noted.length === 0 ? null : (
    <ul class="list tall">
      {noted.map((row) => (
        <li>
          <div class="by">
            <AccountLink name={row.name} kind={row.kind} />
            <span>{row.value === 1 ? 'good' : 'bad'}</span>
            <RelativeTime at={row.at} now={props.now} />
            {props.hasRun && <a href={activationPath(row.activationId)}>View run</a>}
          </div>
          <p class="code">{row.note}</p>
        </li>
      ))}
    </ul>
  )
}
