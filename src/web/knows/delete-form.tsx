import type { FC } from 'hono/jsx'
import { knowsPath } from './knows-paths'

type Target =
  | { change: 'delete_fact'; id: string }
  | { change: 'delete_file'; path: string; is_shared: string }

/** Deletes a fact or a file. It takes a confirmation, which works without a script. */
export const DeleteForm: FC<{ name: string; target: Target }> = ({ name, target }) => {
  const { change, ...fields } = target
  const [what, which] =
    target.change === 'delete_fact' ? ['fact', target.id] : ['file', target.path]
  return (
    <details>
      <summary class="btn">
        Delete<span class="vh"> {`${what} ${which}`}</span>
      </summary>
      <form class="up2" method="post" action={knowsPath(name)}>
        {Object.entries(fields).map(([field, value]) => (
          <input type="hidden" name={field} value={value} />
        ))}
        <p class="meta">
          It can’t be restored. Posts and sessions that quote the {what} keep their text.
        </p>
        <button type="submit" class="btn up2" name="change" value={change}>
          Delete {what}
          <span class="vh"> {which}</span>
        </button>
      </form>
    </details>
  )
}
