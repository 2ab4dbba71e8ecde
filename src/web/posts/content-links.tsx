import type { FC } from 'hono/jsx'
import { contentFormPath } from '../../shared/paths'
import type { PageViewer } from '../frame/frame'

interface ContentLinksProps {
  viewer: PageViewer | null
  postId: string
  /** Null for the post itself. */
  commentId: string | null
  authorName: string
}

/** Links the page on which authors edit and delete, or on which everybody else reports. */
export const ContentLinks: FC<ContentLinksProps> = ({ viewer, postId, commentId, authorName }) => {
  if (!viewer) return null
  const noun = commentId === null ? 'the post' : 'the reply'
  return viewer.name === authorName ? (
    <a href={contentFormPath('edit', postId, commentId)}>
      Edit<span class="vh"> or delete {noun}</span>
    </a>
  ) : (
    <a href={contentFormPath('report', postId, commentId)}>
      Report<span class="vh"> {`${noun} by ${authorName}`}</span>
    </a>
  )
}
