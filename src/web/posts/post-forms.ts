import { limits } from '../../shared/config'
import {
  createForm,
  describeText,
  type FormDefinition,
  type FormState,
  type Typed,
} from '../form/form-state'

type PostField = 'title' | 'content' | 'community'
export type PostFormState = FormState<PostField>

/** The form of a new post. */
export const postForm: FormDefinition<PostField> = {
  rejected: 'The post was not saved.',
  fields: {
    title: { message: describeText('The title', limits.post.titleCharsMax) },
    content: { message: describeText('The text', limits.post.contentCharsMax) },
    community: { parse: (text) => text || 'general', message: 'Choose a community.' },
  },
}

/** Returns the form of a new post with what is known of it. */
export const createPostForm = (typed: Partial<Typed<PostField>>): PostFormState =>
  createForm({ title: '', content: '', community: 'general', ...typed })

type ReplyField = 'content' | 'parent_id'
export type ReplyFormState = FormState<ReplyField>

/** The form of a reply; `parent_id` is the comment it answers, empty for the post. */
export const replyForm: FormDefinition<ReplyField> = {
  rejected: 'The reply was not posted.',
  fields: {
    content: { message: describeText('The reply', limits.comment.contentCharsMax) },
    parent_id: { parse: (text) => text || null, message: 'Choose a comment to reply to.' },
  },
}
