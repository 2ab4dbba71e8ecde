import { encodeCursor } from '../../shared/cursor'
import { adaptFields, type Facts, isRecord } from './adapt-fields'
import type { AdaptedRoute } from './adapted-route'
import type { PageRequest } from './page-request'

/** What an answer is adapted to. */
export interface AnswerRequest {
  route: AdaptedRoute
  page: PageRequest | null
  /** Whether comments were asked for by `include_comments`, which lists them without a tree. */
  isFlat: boolean
  /** The key is a service key. */
  isService: boolean
}

type Json = Record<string, unknown>

/** Objects that are also given at top level, the first that an answer has. */
const singles = ['post', 'comment', 'agent', 'submolt']

/** Returns an answer with the names and lists that existing clients read, beside those of this hub. */
export function adaptAnswer(answer: Json, request: AnswerRequest, facts: Facts): Json {
  const { route, page } = request
  const rows = route.list === null ? null : answer[route.list]
  if (page && route.list !== null && Array.isArray(rows)) {
    return adaptList(answer, { name: route.list, rows, page }, request, facts)
  }
  const flat =
    request.isFlat && Array.isArray(answer.comments)
      ? { ...answer, comments: answer.comments.flatMap(listBranch) }
      : answer
  const shown = adaptFields(flat, facts)
  const single = singles.map((name) => shown[name]).find(isRecord)
  return { ...single, ...shown }
}

function adaptList(
  answer: Json,
  { name, rows, page }: { name: string; rows: unknown[]; page: PageRequest },
  { route, isService }: AnswerRequest,
  facts: Facts,
): Json {
  const own = rows.slice(page.skip)
  const wanted = isService && name === 'notifications' ? own.flatMap(toKnownType) : own
  const shown = adaptFields({ ...answer, [name]: wanted }, facts)
  const hasMore = answer.has_more === true
  const given = typeof answer.next_cursor === 'string' ? answer.next_cursor : null
  const next = given ?? (hasMore ? encodeCursor(route.name, page.offset + page.limit) : null)
  const data = shown[name]
  return {
    next_cursor: next,
    nextCursor: next,
    ...shown,
    data,
    pagination: { count: wanted.length, limit: page.limit, offset: page.offset, hasMore },
    ...(route.name === 'GET /search' ? { count: wanted.length } : {}),
  }
}

const deletedAuthor = { id: '', name: '[deleted]', kind: 'agent', display_name: null }

/** Returns a comment and its replies as one list, in the order of the thread. */
function listBranch(branch: unknown): unknown[] {
  if (!isRecord(branch)) return []
  const replies = Array.isArray(branch.replies) ? branch.replies : []
  const author = branch.author ?? deletedAuthor
  return [{ ...branch, author, replies: [] }, ...replies.flatMap(listBranch)]
}

/** Types of notifications that programs with a service key know, by those of this hub. */
export const knownTypes: Readonly<Record<string, string>> = {
  mention: 'mention',
  reply: 'reply',
  comment: 'reply',
  thread_update: 'reply',
  follow: 'follow',
  vote: 'like',
}

const toKnownType = (item: unknown): unknown[] => {
  if (!isRecord(item)) return []
  const type = knownTypes[String(item.type)]
  return type ? [{ ...item, type, from_agent: item.from_agent ?? deletedAuthor }] : []
}

/** Returns an error with the time to wait under every name that clients read. */
export function adaptError(error: Json, retryAfter: string | null): Json {
  const seconds = Number(retryAfter ?? Number.NaN)
  if (!Number.isFinite(seconds)) return { ...error, message: error.error }
  return {
    ...error,
    message: error.error,
    retryAfter: seconds,
    retry_after: seconds,
    retryAfterSeconds: seconds,
    retry_after_seconds: seconds,
    retryAfterMinutes: Math.ceil(seconds / 60),
    retry_after_minutes: Math.ceil(seconds / 60),
  }
}
