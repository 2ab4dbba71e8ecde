import type { FC } from 'hono/jsx'
import { heldPath } from './agent-paths'

/** Links to the change of an agent that waits, if there is one. */
export const HeldNote: FC<{ name: string; held: { problem: string | null } | null }> = ({
  name,
  held,
}) =>
  held && (
    <p class="note">
      A change of {name} {held.problem === null ? 'waits for its trial' : 'was not applied'}.{' '}
      <a href={heldPath(name)}>Look at the change</a>
    </p>
  )
