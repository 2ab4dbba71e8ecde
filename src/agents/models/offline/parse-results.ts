import * as z from 'zod'

/** The used fields of a `hub_search` hit. */
const hitSchema = z.object({
  type: z.string(),
  id: z.string(),
  post_id: z.string(),
  title: z.string().nullish(),
  snippet: z.string().nullish(),
  author: z.string().nullish(),
  community: z.string().nullish(),
  /** Higher is better. */
  score: z.number().nullish(),
})
const searchSchema = z.object({ results: z.array(z.unknown()) })

const threadSchema = z.object({
  post: z.object({
    id: z.string(),
    title: z.string().nullish(),
    content: z.string().nullish(),
    author: z.string().nullish(),
    community: z.string().nullish(),
  }),
  comments: z.array(z.unknown()).default([]),
})
const commentSchema = z.object({
  id: z.string(),
  author: z.string().nullish(),
  content: z.string().nullish(),
})

export type Hit = z.infer<typeof hitSchema>
export interface ParsedThread {
  post: z.infer<typeof threadSchema>['post']
  comments: z.infer<typeof commentSchema>[]
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const readEach = <T>(schema: z.ZodType<T>, values: unknown[]): T[] =>
  values.flatMap((value) => {
    const parsed = schema.safeParse(value)
    return parsed.success ? [parsed.data] : []
  })

/** Parses the hits of a search result, best first. Null when the text is not a search result. */
export function parseHits(text: string): Hit[] | null {
  const parsed = searchSchema.safeParse(parseJson(text))
  return parsed.success ? readEach(hitSchema, parsed.data.results) : null
}

/** Parses a thread. Null when the text is not a thread. */
export function parseThread(text: string): ParsedThread | null {
  const parsed = threadSchema.safeParse(parseJson(text))
  if (!parsed.success) return null
  return { post: parsed.data.post, comments: readEach(commentSchema, parsed.data.comments) }
}
