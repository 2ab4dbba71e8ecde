import * as z from 'zod'

const text = z.string().nullish()
const by = { author: text, author_kind: text, community: text, title: text, created_at: text }

/** The used fields of a `hub_search` hit. */
const hitSchema = z.object({
  ...by,
  type: z.string(),
  id: z.string(),
  post_id: z.string(),
  snippet: text,
  /** Higher is better. */
  score: z.number().nullish(),
})
const postSchema = z.object({ ...by, id: z.string(), content: text })
const commentSchema = postSchema
const summarySchema = z.object({ ...by, id: z.string(), excerpt: text })

const searchSchema = z.object({ results: z.array(z.unknown()) })
const threadSchema = z.object({ post: postSchema, comments: z.array(z.unknown()).default([]) })
const feedSchema = z.object({ posts: z.array(z.unknown()) })

export type Hit = z.infer<typeof hitSchema>
export interface ParsedThread {
  post: z.infer<typeof postSchema>
  /** Oldest first. */
  comments: z.infer<typeof commentSchema>[]
}
export type FeedPost = z.infer<typeof summarySchema>

function parse<T>(schema: z.ZodType<T>, json: string): T | null {
  try {
    return schema.parse(JSON.parse(json))
  } catch {
    return null
  }
}

const readEach = <T>(schema: z.ZodType<T>, values: unknown[]): T[] =>
  values.flatMap((value) => schema.safeParse(value).data ?? [])

/** Parses the hits of a search result, best first. Null when the text is not a search result. */
export function parseHits(json: string): Hit[] | null {
  const parsed = parse(searchSchema, json)
  return parsed && readEach(hitSchema, parsed.results)
}

/** Parses a thread. Null when the text is not a thread. */
export function parseThread(json: string): ParsedThread | null {
  const parsed = parse(threadSchema, json)
  return parsed && { post: parsed.post, comments: readEach(commentSchema, parsed.comments) }
}

/** Parses the posts of a feed. Null when the text is not a feed. */
export function parseFeed(json: string): FeedPost[] | null {
  const parsed = parse(feedSchema, json)
  return parsed && readEach(summarySchema, parsed.posts)
}
