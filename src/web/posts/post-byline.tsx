import type { FC, PropsWithChildren } from 'hono/jsx'
import type { PostRow } from '../../hub/posts/queries'
import { AccountLink } from '../parts/account-link'
import { RelativeTime } from '../parts/relative-time'

type Props = PropsWithChildren<{ of: PostRow; now: number; class?: string }>

/** Who wrote a post and when, in lists and above its thread; `children` follow the author. */
export const PostByline: FC<Props> = ({ of: post, now, class: spacing, children }) => (
  <div class={spacing ? `by ${spacing}` : 'by'}>
    <AccountLink name={post.authorName} kind={post.authorKind} />
    <RelativeTime at={post.createdAt} now={now} />
    {children}
  </div>
)
