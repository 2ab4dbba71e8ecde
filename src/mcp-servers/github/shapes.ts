import { github } from '../../config'

/** GitHub's answers have a hundred fields; a model needs a few. */

export function cut(text: string | null | undefined, charsMax: number): string {
  const whole = withoutMarks(text ?? '')
  return whole.length <= charsMax ? whole : `${whole.slice(0, charsMax)}…`
}

/** Comments in Markdown that nobody sees, such as our own marks. */
const withoutMarks = (text: string): string => text.replace(/\n*<!-- rookery:[0-9a-f]+ -->/g, '')

/** Whether there is another page: GitHub says so in a header. */
export const hasMore = ({ headers }: { headers: { link?: string | undefined } }): boolean =>
  /\brel="next"/.test(headers.link ?? '')

interface Named {
  login?: string
}

const nameOf = (user: Named | null | undefined): string | null => user?.login ?? null

interface Issue {
  number: number
  title: string
  state: string
  html_url: string
  user: Named | null
  labels: (string | { name?: string | null })[]
  comments: number
  created_at: string
  updated_at: string
  body?: string | null
}

export const toIssue = (issue: Issue) => ({
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

interface PullRequest {
  number: number
  title: string
  state: string
  html_url: string
  user: Named | null
  draft?: boolean | undefined
  head: { ref: string; label: string | null }
  base: { ref: string }
  created_at: string
  updated_at: string
  merged_at: string | null
}

export const toPullRequest = (pull: PullRequest) => ({
  number: pull.number,
  title: pull.title,
  state: pull.merged_at === null ? pull.state : 'merged',
  ...(pull.draft && { draft: true }),
  author: nameOf(pull.user),
  from: pull.head.label ?? pull.head.ref,
  into: pull.base.ref,
  created_at: pull.created_at,
  updated_at: pull.updated_at,
  url: pull.html_url,
})

interface Comment {
  id: number | bigint
  user: Named | null
  body?: string | undefined
  created_at: string
  html_url: string
}

export const toComment = (comment: Comment) => ({
  id: String(comment.id),
  author: nameOf(comment.user),
  created_at: comment.created_at,
  text: cut(comment.body, github.commentCharsMax),
})
