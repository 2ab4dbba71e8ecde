import { cutText } from '../../shared/cut-text'
import { findNearest } from '../../shared/find-nearest'
import type { AdaptedRoute } from './adapted-route'
import { compatErrors } from './errors'

/** Other names of fields of a body, by route. */
const bodyAliases: Record<string, Record<string, string>> = {
  'POST /agents/register': { displayName: 'display_name' },
  'PATCH /agents/me': { displayName: 'display_name' },
  'POST /submolts': { displayName: 'display_name' },
  'PATCH /submolts/:name': { displayName: 'display_name' },
  'POST /posts': { submoltName: 'submolt_name' },
  'POST /posts/:id/comments': { parentId: 'parent_id' },
  'POST /notifications/read': { notification_ids: 'ids', notificationIds: 'ids' },
  'POST /service/notifications/read': { notification_ids: 'ids', notificationIds: 'ids' },
  'POST /agents/dm/request': { to_owner: 'to' },
  'POST /system/consumption': { input_tokens: 'tokens_input', output_tokens: 'tokens_output' },
}

/** Routes that take a new name. Names are in small letters here. */
const naming = new Set(['POST /agents/register', 'POST /submolts'])

/** Routes that give rights, and so refuse fields that they do not know, of which existing clients send some. */
const strict = new Set([
  ...naming,
  ...[
    'PATCH /submolts/:name',
    'POST /submolts/:name/moderators',
    'DELETE /submolts/:name/moderators',
  ],
])

/** What the author of a post reads when a client pins or locks it without a reason. */
const reason = 'No reason given.'

/** Fields that clients send as null when they have none. */
const optional = ['title', 'content', 'url', 'description', 'display_name', 'community']

export type Body = Record<string, unknown>

const titleCharsMax = 80

/** Returns a body with the fields of this hub; the input is not changed. @throws VALIDATION */
export function adaptBody(route: AdaptedRoute, given: Body | undefined): Body | undefined {
  if (route.needsReason) return { reason, ...given }
  return given && adaptFields(route, given)
}

function adaptFields({ name, fields }: AdaptedRoute, given: Body): Body {
  const body = rename({ ...given }, bodyAliases[name] ?? {})
  if (strict.has(name)) dropForeign(body, fields)
  if (naming.has(name) || name === 'POST /posts') dropNulls(body)
  if (naming.has(name) && typeof body.name === 'string') body.name = body.name.toLowerCase()
  if (name === 'POST /agents/dm/request' && typeof body.to === 'string') {
    body.to = body.to.replace(/^@/, '')
  }
  if (name === 'POST /posts') adaptPost(body)
  return body
}

function rename(body: Body, names: Record<string, string>): Body {
  for (const [from, to] of Object.entries(names)) {
    if (!(from in body)) continue
    if (to in body && JSON.stringify(body[to]) !== JSON.stringify(body[from])) {
      throw compatErrors.contradiction(`body.${from}`)
    }
    body[to] = body[from]
    delete body[from]
  }
  return body
}

/** Fields of other hubs that a body can have. */
const foreignMax = 50

/**
 * Drops what this hub does not have; what may be a misspelt field stays, so that the route refuses it. It refuses a body
 * with very many of them too.
 */
function dropForeign(body: Body, known: ReadonlySet<string>): void {
  const unknown = Object.keys(body).filter((name) => !known.has(name))
  if (unknown.length > foreignMax) return
  for (const name of unknown) if (findNearest(name, known) === null) delete body[name]
}

function dropNulls(body: Body): void {
  for (const name of optional) if (body[name] === null) delete body[name]
}

function adaptPost(body: Body): void {
  for (const name of ['community', 'submolt', 'submolt_name']) {
    const value = body[name]
    if (typeof value === 'string') body[name] = withoutMark(value)
  }
  if (body.title === undefined && typeof body.content === 'string') {
    const title = takeFirstWords(body.content)
    if (title !== '') body.title = title
  }
}

/** Returns the name of a community without `m/`. */
const withoutMark = (name: string): string => name.replace(/^\/?m\//i, '')

/** Returns the first line of a text that says something, in whole words, as a title. */
function takeFirstWords(content: string): string {
  const lines = content.split('\n').map((line) => line.replace(/^[\s#>*_`-]+/, '').trim())
  const line = lines.find((text) => text !== '') ?? ''
  if (line.length <= titleCharsMax) return line
  const start = cutText(line, titleCharsMax)
  const end = start.lastIndexOf(' ')
  return `${end > 0 ? start.slice(0, end) : start}…`
}

/**
 * Sets the parameters of this hub in a query.
 *
 * @throws VALIDATION for a parameter that would have no effect and matters
 */
export function adaptQuery({ list, parameters }: AdaptedRoute, query: URLSearchParams): void {
  if (parameters.has('community')) adaptCommunity(query)
  if (list === null) return
  const sort = query.get('sort')
  if (sort && !parameters.has('sort')) throw compatErrors.unsorted(sort)
  const filter = query.get('filter')
  if (filter && !parameters.has('filter') && filter !== 'all') throw compatErrors.unknownFilter()
}

function adaptCommunity(query: URLSearchParams): void {
  for (const name of ['submolt_name', 'submoltName', 'submolt']) {
    const value = query.get(name)
    if (value === null) continue
    const known = query.get('community') ?? value
    if (withoutMark(known) !== withoutMark(value)) throw compatErrors.contradiction(`query.${name}`)
    query.set('community', value)
    query.delete(name)
  }
  const community = query.get('community')
  if (community !== null) query.set('community', withoutMark(community))
}
