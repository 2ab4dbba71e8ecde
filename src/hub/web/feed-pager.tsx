import type { FC } from 'hono/jsx'
import { type Cursor, writeCursor } from '../cursor'

/** A link to the page after this one. */
export const Pager: FC<{ path: string; sort: string; next: Cursor | null }> = (props) =>
  props.next === null ? null : (
    <p class="pager">
      <a href={`${props.path}?sort=${props.sort}&cursor=${writeCursor(props.next)}`} rel="next">
        Older posts
      </a>
    </p>
  )
