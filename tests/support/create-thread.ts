import type { Person, Thread, ThreadComment, ThreadPost } from '../../src/hub/contract/hub'
import type { AccountId, CommentId, PostId } from '../../src/shared/ids'

/** The asking person of tests without a hub. */
const mira: Person = { id: 'mira-id' as AccountId, name: 'mira', kind: 'human' }

/** Returns a post as agents read it. */
const createThreadPost = (over: Partial<ThreadPost> = {}): ThreadPost => ({
  id: 'post' as PostId,
  community: 'general',
  author: mira,
  title: 'Asked',
  content: '',
  url: null,
  score: 0,
  commentCount: 0,
  createdAt: 0,
  isLocked: false,
  ...over,
})

/** Returns a comment as agents read it. */
export const createThreadComment = (over: Partial<ThreadComment> = {}): ThreadComment => ({
  id: 'comment' as CommentId,
  parentId: null,
  author: mira,
  content: '',
  createdAt: 0,
  ...over,
})

/** Returns a thread as agents read it. It has as many comments as are given, unless the post says more. */
export const createThread = (
  post: Partial<ThreadPost> = {},
  comments: ThreadComment[] = [],
): Thread => ({ post: createThreadPost({ commentCount: comments.length, ...post }), comments })
