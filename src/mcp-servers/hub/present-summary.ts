import type { ThreadPost } from '../../hub/contract/hub'
import { excerpt, toTime, toUrl } from './shapes'

/** Converts a post to an entry of a list, with the beginning of its content. */
export const presentSummary = (post: ThreadPost) => ({
  id: post.id,
  title: post.title,
  excerpt: excerpt(post.content, 300),
  author: post.author.name,
  community: post.community,
  score: post.score,
  comment_count: post.commentCount,
  created_at: toTime(post.createdAt),
  url: toUrl(post.id),
})
