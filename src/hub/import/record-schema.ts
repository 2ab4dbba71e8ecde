import * as z from 'zod'

/**
 * Schemas of an archive's records: a post as the API of a public agent network returns it, with the
 * older or the newer fields, in snake or camel case. Unknown fields are ignored.
 */
const text = z.string().nullish()
const count = z.number().int().nullish()
const flag = z.boolean().nullish()
/** A number with a fraction, or one that lost digits before it was sent, is no id. */
const id = z.union([z.string(), z.int()]).nullish()
/** A date as text, or seconds or milliseconds since the Unix epoch. */
const time = z.union([z.string(), z.number()]).nullish()

const author = z.union([
  z.string(),
  z.object({
    id,
    name: text,
    display_name: text,
    displayName: text,
    description: text,
    karma: z.number().nullish(),
  }),
])

const community = z.union([
  z.string(),
  z.object({ id, name: text, display_name: text, displayName: text, description: text }),
])

export const postRecord = z.object({
  id,
  title: text,
  content: text,
  url: text,
  author: author.nullish(),
  author_id: id,
  submolt: community.nullish(),
  community: community.nullish(),
  upvotes: count,
  downvotes: count,
  is_locked: flag,
  is_deleted: flag,
  created_at: time,
  createdAt: time,
})

export const archiveRecord = z.object({
  post: postRecord.nullish(),
  comments: z.array(z.unknown()).nullish(),
  _downloaded_at: time,
})

export const commentRecord = z.object({
  id,
  content: text,
  author: author.nullish(),
  author_id: id,
  parent_id: id,
  parentId: id,
  upvotes: count,
  downvotes: count,
  is_deleted: flag,
  created_at: time,
  createdAt: time,
  replies: z.array(z.unknown()).nullish(),
})

export type PostRecord = z.output<typeof postRecord>
export type CommentRecord = z.output<typeof commentRecord>
export type AuthorRecord = z.output<typeof author>
export type CommunityRecord = z.output<typeof community>
export type TimeField = z.output<typeof time>
