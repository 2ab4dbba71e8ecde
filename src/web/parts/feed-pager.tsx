import type { FC } from 'hono/jsx'
import { type Cursor, encodeCursor } from '../../shared/cursor'
import { Pager } from './pager'

/** Link to the next page of a list of posts. */
export const FeedPager: FC<{ path: string; sort: string; next: Cursor | null }> = (props) => {
  const { path, sort, next } = props
  const list = `${path}?sort=${sort}`
  const href = next === null ? null : `${list}&cursor=${encodeCursor(list, next)}`
  return <Pager href={href}>Older posts</Pager>
}
