import { request } from '@octokit/request'
import * as z from 'zod'
import { github } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import { AppError, type ErrorCode, type ErrorDetail } from '../../shared/errors'
import type { Connection } from '../credentials/connection'
import { checkJson, excerpt } from '../fetch/explain-answer'
import type { ServiceRequest } from '../fetch/guarded-fetch'

export type GithubClient = ReturnType<typeof openGithub>

/** Creates a client of GitHub's API, whose requests all use the guarded fetch. */
export function openGithub(outside: Connection, options: FetchOptions = {}) {
  return request.defaults({
    baseUrl: outside.baseUrl.href.replace(/\/$/, ''),
    headers: { 'user-agent': 'Rookery', 'x-github-api-version': github.apiVersion },
    request: {
      fetch: toFetch(outside, options),
      log: silent,
      hook: async (send: typeof request, options: Parameters<typeof request>[0]) => {
        try {
          return await send(options)
        } catch (failure) {
          throw explainFailure(failure)
        }
      },
    },
  })
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** The response headers that the client uses. */
const keptHeaders = [
  'content-type',
  'link',
  'retry-after',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
]

type FetchOptions = Pick<ServiceRequest, 'isDecodedLater'>

function toFetch(outside: Connection, options: FetchOptions): typeof fetch {
  return async (input, init) => {
    const answer = await outside.fetch({
      method: init?.method ?? 'GET',
      url: new URL(String(input)),
      headers: { ...(init?.headers as Record<string, string>), ...outside.headers },
      bytesMax: github.answerBytesMax,
      ...options,
      ...(typeof init?.body === 'string' && { body: init.body }),
    })
    if (answer.isTruncated) throw githubErrors.responseTooLarge()
    if (answer.status < 500) checkJson('github', answer)
    const headers = keptHeaders.flatMap((name) => {
      const value = answer.headers.get(name)
      return value === null ? [] : [[name, value] as [string, string]]
    })
    const hasBody = answer.status !== 204 && answer.status !== 304
    return new Response(hasBody ? answer.text : null, { status: answer.status, headers })
  }
}

/** The documented part of an error that GitHub's client throws. */
const failed = z.object({
  status: z.number(),
  response: z.object({ headers: z.record(z.string(), z.unknown()), data: z.unknown() }),
})

/** The body of GitHub's error response. */
const errorBody = z.object({
  message: z.string().default(''),
  errors: z
    .array(
      z.union([
        z.string(),
        z.object({
          resource: z.string().optional(),
          field: z.string().optional(),
          code: z.string().optional(),
          message: z.string().optional(),
        }),
      ]),
    )
    .catch([])
    .default([]),
})

/** Converts an error of GitHub's client to one that a model can act on; an `AppError` stays unchanged. */
function explainFailure(failure: unknown): unknown {
  if (failure instanceof Error && failure.cause instanceof AppError) return failure.cause
  const parsed = failed.safeParse(failure)
  if (!parsed.success) return failure
  const { status, response } = parsed.data
  const { headers, data } = response
  const { message, errors } = errorBody.safeParse(data).data ?? { message: '', errors: [] }
  const words = message === '' ? '' : ` GitHub says: ${excerpt(message)}.`.replace(/\.\.$/, '.')
  const retry = status === 403 || status === 429 ? formatRetry(headers) : null
  if (retry !== null) return githubErrors.rateLimited(status, retry)
  return githubErrors.refused(explainStatus(status), status, words, errors.map(toDetail))
}

interface StatusMessage {
  code: ErrorCode
  text: string
  hint?: string
}

function explainStatus(status: number): StatusMessage {
  if (status >= 500) return serverError
  return statusMessages[status] ?? { code: 'VALIDATION', text: 'GitHub refused the request' }
}

const serverError: StatusMessage = {
  code: 'UNAVAILABLE',
  text: 'GitHub failed',
  hint: 'Try again later. The action may still have completed.',
}

const statusMessages: Record<number, StatusMessage> = {
  401: {
    code: 'UNAVAILABLE',
    text: 'GitHub did not accept the credential',
    hint: 'An admin may have to set it again.',
  },
  403: {
    code: 'FORBIDDEN',
    text: "The credential's permissions do not allow this on GitHub",
    hint: 'An admin may have to give it more permissions.',
  },
  404: {
    code: 'NOT_FOUND',
    text: 'Not found on GitHub',
    hint: 'Check the name; the credential may not have access.',
  },
  410: {
    code: 'NOT_FOUND',
    text: 'Deleted on GitHub, or disabled in the repository',
  },
  422: { code: 'VALIDATION', text: 'GitHub did not accept these arguments' },
}

/** Formats when to retry after a primary or secondary rate limit; null: no limit was reached. */
function formatRetry(headers: Record<string, unknown>): string | null {
  const seconds = Number(headers['retry-after'])
  if (seconds > 0) return `Retry after ${seconds} s.`
  const resetSeconds = Number(headers['x-ratelimit-reset'])
  if (headers['x-ratelimit-remaining'] !== '0' || !(resetSeconds > 0)) return null
  return `The limit resets on ${new Date(resetSeconds * 1000).toISOString()}.`
}

type GithubError = z.output<typeof errorBody>['errors'][number]

/** Converts an error to a detail such as `title: missing_field`. */
function toDetail(error: GithubError): ErrorDetail {
  if (typeof error === 'string') return { path: 'github', message: excerpt(error) }
  const { resource, field, code, message } = error
  return {
    path: field ?? resource ?? 'github',
    message: excerpt(message ?? code ?? 'Not valid'),
  }
}

/** Errors of the GitHub tools, as models read them. */
export const githubErrors = {
  rateLimited: (status: number, hint: string) =>
    new AppError('UNAVAILABLE', `The rate limit of GitHub is reached (${status}).`, { hint }),
  /** @param words GitHub's own message, with a space before it; empty when there is none */
  refused: (
    { code, text, hint }: { code: ErrorCode; text: string; hint?: string },
    status: number,
    words: string,
    details: ErrorDetail[],
  ) =>
    new AppError(code, `${text} (${status}).${words}`, {
      ...(hint !== undefined && { hint }),
      ...(details.length > 0 && { details }),
    }),
  responseTooLarge: () =>
    new AppError('TOO_LARGE', 'The response of GitHub is too large to read.', {
      hint: 'Request less at a time: a smaller per_page, or a single item by its number.',
    }),
  /** @param field path of the first unexpected field; null: the whole response */
  unknownFormat: (field: string | null, cause: unknown) =>
    new AppError(
      'UNAVAILABLE',
      `GitHub answered in an unknown format${field === null ? '' : ` at ${field}`}.`,
      {
        hint: 'An admin checks the base URL of the service github. The action may still have completed.',
        cause,
      },
    ),
  fileTooLarge: (bytes: number) =>
    new AppError('TOO_LARGE', `The file has ${bytes} bytes, which is too large to read here.`),
}

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
