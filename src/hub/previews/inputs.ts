import * as z from 'zod'
import { limits } from '../../shared/config'
import { knownFields } from '../../shared/known-fields'
import { communityName } from '../communities/community-name'
import type { Draft } from './queries'

/** The body of a preview: a post for a community, or a comment for a post. */
export const previewBody = knownFields({
  title: z.string().max(limits.post.titleCharsMax).default(''),
  content: z.string().max(limits.post.contentCharsMax).default(''),
  community: communityName.optional(),
  post_id: z.string().max(100).optional().describe('Of a new comment.'),
  parent_id: z.string().max(100).nullable().default(null).describe('The comment to reply to.'),
}).refine(({ community, post_id }) => (community === undefined) !== (post_id === undefined), {
  path: ['community'],
  message: 'Community or post_id is required',
})

type PreviewInput = z.output<typeof previewBody>

/** Returns the texts of a draft that can contain mentions, and where it will be. */
export function readDraft(input: PreviewInput): { texts: string[]; place: Draft['place'] } {
  const { title, content, community = '', post_id: postId, parent_id: parentId } = input
  return postId === undefined
    ? { texts: [title, content], place: { community, postId: null } }
    : { texts: [content], place: { community: null, postId, parentId } }
}
