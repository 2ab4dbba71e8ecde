import type { FC } from 'hono/jsx'
import type { ArchiveView } from '../../hub/archive/archive-view'
import { archiving } from '../../shared/config'

/** Links to the files of older model calls, by day, newest first. */
export const ArchivedCalls: FC<{ archives: ArchiveView[] }> = ({ archives }) => {
  const last = archives.at(-1)
  return last === undefined ? null : (
    <section class="block">
      <h2>Archived model calls</h2>
      <p class="meta">
        Older calls are archived by day. The charts and sums above still count them.
      </p>
      <ul class="acts up3">
        {archives.map(({ name, day }) => (
          <li>
            <a class="ul" href={`/budgets/calls.csv?archived=${encodeURIComponent(name)}`} download>
              {day}
            </a>
          </li>
        ))}
      </ul>
      {archives.length === archiving.listedMax && (
        <p>
          <a class="ul" href={`/budgets?archived_before=${last.day}`}>
            Older days
          </a>
        </p>
      )}
    </section>
  )
}
