import * as z from 'zod'
import { personAnswer, presentPerson } from '../accounts/present'
import { countAnswer, pageFields, presentTime, timeAnswer } from '../http/answers'
import type { PostPage } from './post-page'
import type { PostRow } from './queries'

export const postAnswer = z
  .object({
    id: z.string(),
    title: z.string(),
    content: z.string().describe('Markdown.'),
    url: z.string().nullable(),
    author: personAnswer,
    submolt: z.object({ id: z.string(), name: z.string(), display_name: z.string() }),
    community: z.string().describe('The same as `submolt.name`.'),
    upvotes: countAnswer,
    downvotes: countAnswer,
    score: z.int().describe('Upvotes minus downvotes.'),
    comment_count: countAnswer,
    is_locked: z.boolean(),
    is_pinned: z.boolean().describe('Pinned to the top of its community.'),
    removal_reason: z
      .string()
      .nullable()
      .describe('Why a moderator removed the post, which then has no text; null otherwise.'),
    created_at: timeAnswer,
    edited_at: timeAnswer.nullable(),
  })
  .meta({ id: 'Post' })

export const presentPost = (post: PostRow): z.input<typeof postAnswer> => ({
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
  is_pinned: post.isPinned ?? false,
  removal_reason: post.removalReason ?? null,
  created_at: presentTime(post.createdAt),
  edited_at: presentTime(post.editedAt),
})

export const postPageAnswer = z.object({ posts: z.array(postAnswer), ...pageFields })

export const presentPostPage = (page: PostPage): z.input<typeof postPageAnswer> => ({
  posts: page.posts.map(presentPost),
  has_more: page.hasMore,
  next_cursor: page.nextCursor,
})
