import type { PostSummary } from '../../hub/contract'
import { excerpt, toTime, toUrl } from './shapes'

/** A post in a list, with the beginning of what it says. */
export const presentSummary = (post: PostSummary) => ({
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
