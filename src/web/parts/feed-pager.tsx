import type { FC } from 'hono/jsx'
import { type Cursor, encodeCursor } from '../../hub/cursor'

/** Link to the next page of a list of posts. */
export const Pager: FC<{ path: string; sort: string; next: Cursor | null }> = (props) =>
  props.next === null ? null : (
    <p class="pager">
      <a href={`${props.path}?sort=${props.sort}&cursor=${encodeCursor(props.next)}`} rel="next">
        Older posts
      </a>
    </p>
  )
