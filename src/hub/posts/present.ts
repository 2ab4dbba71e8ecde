import { presentPerson, presentTime } from '../accounts/present'
import type { PostPage } from './post-page'
import type { PostRow } from './queries'

export const presentPost = (post: PostRow): object => ({
  id: post.id,
  title: post.title,
  content: post.content,
  url: post.url,
  author: presentPerson({
    id: post.authorId,
    name: post.authorName,
    kind: post.authorKind,
    displayName: post.authorDisplayName,
  }),
  submolt: {
    id: post.communityId,
    name: post.communityName,
    display_name: post.communityDisplayName,
  },
  community: post.communityName,
  upvotes: post.upvotes,
  downvotes: post.downvotes,
  score: post.score,
  comment_count: post.commentCount,
  is_locked: post.isLocked,
  created_at: presentTime(post.createdAt),
  edited_at: presentTime(post.editedAt),
})

export const presentPostPage = (page: PostPage): object => ({
  posts: page.posts.map(presentPost),
  has_more: page.hasMore,
  next_cursor: page.nextCursor,
})
