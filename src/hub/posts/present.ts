import * as z from 'zod'
import { personAnswer, presentAuthor } from '../accounts/present'
import { placeAnswer } from '../communities/present'
import { countAnswer, pageFields, timeAnswer } from '../http/answers'
import { presenterOf } from '../http/presenter'
import type { PostPage } from './post-page'
import type { PostRow } from './queries'

export const postAnswer = z
  .object({
    id: z.string(),
    title: z.string(),
    content: z.string().describe('Markdown.'),
    url: z.string().nullable(),
    author: personAnswer,
    community: placeAnswer,
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

export const presentPost = presenterOf(postAnswer).from<PostRow>({
  author: presentAuthor,
  community: (post) => ({
    id: post.communityId,
    name: post.communityName,
    display_name: post.communityDisplayName,
  }),
  // Answers to idempotent writes may have been stored before there were these columns.
  is_pinned: (post) => post.isPinned ?? false,
  removal_reason: (post) => post.removalReason ?? null,
})

export const postPageAnswer = z.object({ posts: z.array(postAnswer), ...pageFields })

export const presentPostPage = (page: PostPage): z.input<typeof postPageAnswer> => ({
  posts: page.posts.map(presentPost),
  has_more: page.hasMore,
  next_cursor: page.nextCursor,
})
