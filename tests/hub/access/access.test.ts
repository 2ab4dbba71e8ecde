import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiRoutes } from '../../../src/hub/app'
import { dialectBase } from '../../../src/hub/dialect/operations'
import { dialectRoutes } from '../../../src/hub/dialect/own-routes'
import { apiBase } from '../../../src/hub/http/mount-routes'
import { adminRoutes } from '../../../src/mcp-servers/admin/admin-routes'
import { type ErrorCode, errorCodes } from '../../../src/shared/errors'
import { installFakeIssuer } from '../../support/fake-issuer'
import { sample, sampleSize } from '../../support/sample'
import { apiTable } from './api-table'
import { type Row, readCell, readName, type Table } from './cells'
import { findCachingProblem } from './check-caching'
import { createWorld, type World } from './create-world'
import { dialectTable } from './dialect-table'
import { moduleTable } from './module-table'
import { pageTable } from './page-table'
import { programTable } from './program-table'
import { type Column, columns } from './requesters'
import { formatDeviations, runTable } from './run-table'

let world: World
const issuer = installFakeIssuer()
afterAll(() => issuer.restore())
beforeAll(async () => {
  world = await createWorld()
})

/** Rows of each kind, which are also sent as existing clients send them. */
const dispatchedRows = new Set([
  'GET /posts/:id',
  'PATCH /posts/:id',
  'GET /conversations',
  'POST /posts',
  'GET /me',
  'GET /activations/:id',
  'PUT /accounts/:name/role',
  'GET /admin/log',
])

const titleOf = ({ method, path }: { method: string; path: string }) =>
  `${method.toUpperCase()} ${path}`
const rowsOf = (table: Table) => new Set(Object.keys(table).map((name) => titleOf(readName(name))))

const statuses = new Map(
  [...apiRoutes, ...dialectRoutes, ...adminRoutes].map(
    (route) => [titleOf(route), route.status] as const,
  ),
)
const json = {
  base: apiBase,
  toBody: (fields: Record<string, unknown>) => ({
    type: 'application/json',
    text: JSON.stringify(fields),
  }),
  isSuccess: (name: string, { status }: Response) =>
    status === statuses.get(titleOf(readName(name))),
  readStatus: ({ status }: Response) => status,
}
const forms = {
  base: '',
  toBody: (fields: Record<string, unknown>) => ({
    type: 'application/x-www-form-urlencoded',
    text: new URLSearchParams(fields as Record<string, string>).toString(),
  }),
  isSuccess: (_name: string, response: Response) => readStatus(response) < 400,
  readStatus,
}

/**
 * Returns the status of a page. A redirect to the sign-in page is 401. A form with a secret is answered
 * with a redirect and an error code, so that no response contains what was typed.
 */
function readStatus({ status, headers }: Response): number {
  const location = headers.get('location') ?? ''
  if (status !== 303) return status
  if (/^\/login\b/.test(location)) return errorCodes.UNAUTHORIZED.status
  const code = new URL(location, 'http://hub.test').searchParams.get('error')
  if (code === null) return status
  // The answer to a visit that was started elsewhere.
  if (code === 'EXPIRED') return errorCodes.UNAUTHORIZED.status
  return code in errorCodes ? errorCodes[code as ErrorCode].status : 400
}

const identify = (request: Request, headers: Record<string, string>): Request => {
  const identified = new Request(request, { redirect: 'manual' })
  for (const [name, value] of Object.entries(headers)) identified.headers.set(name, value)
  return identified
}

/** What answers said to caches, and should not have. */
const cachingProblems = new Set<string>()
let checked = 0
/** Sends an identified request, and notes what its answer says to caches. */
async function observe(request: Request, fetch: (request: Request) => Promise<Response>) {
  const sent = new Request(request.url, { method: request.method, headers: request.headers })
  const response = await fetch(request)
  const problem = findCachingProblem(sent, response)
  checked++
  if (problem) cachingProblems.add(problem)
  return response
}
const sendApi = (isPublic: boolean) => async (row: Row, column: Column, request: Request) => {
  const headers = world.requesters.toHeaders(column, row.owner ?? 'olga')
  return observe(identify(request, headers), (sent) => world.fetchHub(sent, isPublic))
}
const sendModule = (isPublic: boolean) => async (row: Row, column: Column, request: Request) => {
  const headers = world.requesters.toHeaders(column, row.owner ?? 'olga')
  return observe(identify(request, headers), (sent) => world.fetchModule(sent, isPublic))
}
/** Pages of credentials, remote servers and connected accounts need the whole Worker. */
const isOfModules = (request: Request) =>
  /^\/(credentials|models|tools\/remote|connect|settings\/connections)\b/.test(
    new URL(request.url).pathname,
  )
const sendPage = (isPublic: boolean) => async (row: Row, column: Column, request: Request) => {
  const { owner = 'olga', endsSession } = row
  const headers = await world.requesters.toBrowserHeaders(column, owner, endsSession)
  const identified = identify(request, headers)
  return observe(identified, (sent) =>
    isOfModules(request) ? world.fetchModule(sent, isPublic) : world.fetchHub(sent, isPublic),
  )
}

test('T1: every route of the API and every page has a row that says who can use it', () => {
  expect(rowsOf(apiTable)).toEqual(new Set(apiRoutes.map(titleOf)))
  expect(rowsOf(dialectTable)).toEqual(new Set(dialectRoutes.map(titleOf)))
  expect(rowsOf(moduleTable)).toEqual(new Set(adminRoutes.map(titleOf)))
  const pages = world
    .listRoutes()
    .filter(({ path }) => ![apiBase, dialectBase].some((base) => path.startsWith(base)))
  expect(rowsOf(pageTable)).toEqual(new Set(pages.map(titleOf)))
  expect(pages.length).toBeGreaterThan(60)
})

test('T1: no row repeats what its group says', () => {
  for (const [name, row] of Object.entries({
    ...apiTable,
    ...moduleTable,
    ...pageTable,
    ...programTable,
  })) {
    for (const column of columns) {
      const { except, ...plain } = row
      if (except?.[column] === undefined) continue
      expect(readCell(plain, column), `${name}, ${column}`).not.toBe(except[column])
    }
  }
})

/** Most rows of a private hub are those of a public one. */
const sampleRows = (table: Table): Table =>
  Object.fromEntries(sample(Object.entries(table), Object.keys(table).length / 2))

describe('T1: each kind of requester gets what the table says', () => {
  test('T1: from the API of a public hub', async () => {
    const run = { ...json, isPublic: true, send: sendApi(true) }
    expect(formatDeviations(await runTable(world, apiTable, run))).toBe('')
  })

  test('T1: from the API of a private hub', async () => {
    const run = { ...json, isPublic: false, send: sendApi(false) }
    const chosen = ['nobody', 'expired', 'token', 'writer', 'other'] as const
    expect(formatDeviations(await runTable(world, sampleRows(apiTable), run, chosen))).toBe('')
  })

  test('T1, H3: from the API for existing clients', async () => {
    const run = { ...json, isPublic: true, send: sendApi(true), base: dialectBase }
    expect(formatDeviations(await runTable(world, dialectTable, run))).toBe('')
    // Its other routes are those of the API, which it dispatches.
    const rows = Object.entries(apiTable).filter(([name]) => dispatchedRows.has(name))
    expect(formatDeviations(await runTable(world, Object.fromEntries(rows), run))).toBe('')
  })

  test('T1: from the API of credentials and servers', async () => {
    const run = { ...json, isPublic: true, send: sendModule(true) }
    expect(formatDeviations(await runTable(world, moduleTable, run))).toBe('')
    const hidden = { ...run, isPublic: false, send: sendModule(false) }
    const chosen = ['nobody', 'expired', 'token'] as const
    expect(formatDeviations(await runTable(world, moduleTable, hidden, chosen))).toBe('')
  })

  test('T1, X3: from tools, the model gateway and repositories', {}, async () => {
    const isSuccess = (_name: string, { status }: Response) => status === 200
    const run = { ...json, base: '', isSuccess, isPublic: true, send: sendModule(true) }
    expect(formatDeviations(await runTable(world, programTable, run))).toBe('')
    const hidden = { ...run, isPublic: false, send: sendModule(false) }
    const chosen = ['nobody', 'expired', 'token', 'runner'] as const
    expect(formatDeviations(await runTable(world, programTable, hidden, chosen))).toBe('')
  })

  test('T1: from the pages of a public hub', async () => {
    const run = { ...forms, isPublic: true, send: sendPage(true) }
    expect(formatDeviations(await runTable(world, pageTable, run))).toBe('')
  })

  test('T1: from the pages of a private hub', async () => {
    const run = { ...forms, isPublic: false, send: sendPage(false) }
    const chosen = ['nobody', 'expired', 'token', 'writer'] as const
    expect(formatDeviations(await runTable(world, sampleRows(pageTable), run, chosen))).toBe('')
  })
})

test('T17: whoever asks, no cache keeps an answer that is for them', () => {
  expect([...cachingProblems]).toEqual([])
  expect(checked).toBeGreaterThan(sampleSize(1_000, 3_000))
})
