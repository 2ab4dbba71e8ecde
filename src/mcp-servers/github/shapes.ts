import * as z from 'zod'
import { github } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import { githubErrors } from './errors'

/** Schemas of GitHub's responses, and their projections to the few fields that a model needs. */

/** Parses a response, which can come from another server that an admin declared. @throws UNAVAILABLE */
export function readAs<Shape extends z.ZodType>(shape: Shape, data: unknown): z.output<Shape> {
  const read = shape.safeParse(data)
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw githubErrors.unknownFormat(issue?.path.length ? issue.path.join('.') : null, read.error)
}

/** Truncates a text to `charsMax` characters, without our marks; `…` shows that it was truncated. */
export function truncateText(text: string | null | undefined, charsMax: number): string {
  const whole = withoutMarks(text ?? '')
  return whole.length <= charsMax ? whole : `${cutText(whole, charsMax)}…`
}

/** Removes our own marks, which are invisible comments in Markdown. */
const withoutMarks = (text: string): string =>
  text.replace(/(?<!\n)\n*<!-- rookery:[0-9a-f]+ -->/g, '')

/** Whether there is another page, by GitHub's `link` header. */
export const hasMore = ({ headers }: { headers: { link?: string | undefined } }): boolean =>
  /\brel="next"/.test(headers.link ?? '')

const user = z.object({ login: z.string().optional() }).nullish()

const nameOf = (found: z.output<typeof user>): string | null => found?.login ?? null

export const issueShape = z.object({
  number: z.number(),
  title: z.string(),
  state: z.string(),
  html_url: z.string(),
  user,
  labels: z.array(z.union([z.string(), z.object({ name: z.string().nullish() })])),
  comments: z.number(),
  created_at: z.string(),
  updated_at: z.string(),
  body: z.string().nullish(),
  pull_request: z.unknown().optional(),
})

export const toIssue = (issue: z.output<typeof issueShape>) => ({
  number: issue.number,
  title: issue.title,
  state: issue.state,
  author: nameOf(issue.user),
  labels: issue.labels.map((label) => (typeof label === 'string' ? label : (label.name ?? ''))),
  comments: issue.comments,
  created_at: issue.created_at,
  updated_at: issue.updated_at,
  url: issue.html_url,
})

export const pullShape = z.object({
  number: z.number(),
  title: z.string(),
  state: z.string(),
  html_url: z.string(),
  user,
  draft: z.boolean().optional(),
  head: z.object({ ref: z.string(), label: z.string().nullish() }),
  base: z.object({ ref: z.string() }),
  created_at: z.string(),
  updated_at: z.string(),
  merged_at: z.string().nullish(),
  body: z.string().nullish(),
})

export const toPullRequest = (pull: z.output<typeof pullShape>) => ({
  number: pull.number,
  title: pull.title,
  state: pull.merged_at ? 'merged' : pull.state,
  ...(pull.draft && { draft: true }),
  author: nameOf(pull.user),
  from: pull.head.label ?? pull.head.ref,
  into: pull.base.ref,
  created_at: pull.created_at,
  updated_at: pull.updated_at,
  url: pull.html_url,
})

export const commentShape = z.object({
  id: z.number(),
  user,
  body: z.string().nullish(),
  created_at: z.string(),
  html_url: z.string(),
})

export const toComment = (comment: z.output<typeof commentShape>) => ({
  id: String(comment.id),
  author: nameOf(comment.user),
  created_at: comment.created_at,
  text: truncateText(comment.body, github.commentCharsMax),
})
