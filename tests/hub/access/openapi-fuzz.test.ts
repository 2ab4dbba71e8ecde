import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { adminRoutes } from '../../../src/mcp-servers/admin/admin-routes'
import { sample, sampleSize } from '../../support/sample'
import { checkAnswer } from '../check-answer'
import { createWorld, type World } from './create-world'
import { type GeneratedRequest, generateRequest, type OpenApi } from './generate-request'
import { type Caller, callers, findPrivateText } from './private-texts'

/**
 * Sends requests that are generated from /openapi.json. To explore by hand:
 *
 *     ROOKERY_FUZZ_SEED=7 ROOKERY_FUZZ_RUNS=20000 npx vitest run tests/hub/access/openapi-fuzz.test.ts
 */
const setting = (name: 'SEED' | 'RUNS'): number =>
  Number(Reflect.get(env, `ROOKERY_FUZZ_${name}`) ?? 0)
const seeds = setting('SEED') ? [setting('SEED')] : sample([1, 2026], 1)
const runs = setting('RUNS') || sampleSize(500, 1_000)
/** Far more than a request needs: only one that hangs takes this long. */
const hangMs = 20_000

/** Requests after which the list of callers would be wrong: they give an account more rights or a new key. */
const changesCallers = ({ method, path }: GeneratedRequest): boolean =>
  (method === 'PUT' && /^\/agents\/[^/]+\/role\b/.test(path)) ||
  (method === 'PUT' && /^\/agents\/[^/]+\/definition\b/.test(path))

/** After it the hub takes no writes for a while. */
const holdsHub = ({ method, path }: GeneratedRequest): boolean =>
  method === 'POST' && /^\/backup\b/.test(path)

let world: World
let api: OpenApi
let known: string[]

beforeAll(async () => {
  world = await createWorld()
  const document = await world.fetchModule(new Request('http://hub.test/openapi.json'), true)
  api = await document.json()
  const names = ['olga', 'piet', 'scout', 'wren', 'gus', 'admin', 'general', 'orchard', '*']
  known = [
    ...names,
    '@scout',
    world.sessionId,
    'http',
    'weather',
    'weather-key',
    'hub:read',
    world.postId,
    world.othersPostId,
    world.commentId,
    world.othersCommentId,
    world.activationId,
    world.parkedId,
    world.approvalId,
    world.auditId,
    world.conversationId,
    world.requestId,
    world.budgetId,
    world.weekBudgetId,
    world.olga.id,
    world.piet.id,
    world.scout.id,
    await world.newKey(world.piet),
  ]
})

const modulePaths = adminRoutes.map(({ path }) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`))

function fetchAs(caller: Caller, sent: GeneratedRequest): Promise<Response> {
  const request = new Request(`http://hub.test/api/v1${sent.path}`, {
    method: sent.method,
    headers: { ...sent.headers, ...world.requesters.toHeaders(caller.column, caller.owner) },
    body: sent.body,
    redirect: 'manual',
  })
  const { pathname } = new URL(request.url)
  const path = pathname.slice('/api/v1'.length)
  return modulePaths.some((pattern) => pattern.test(path))
    ? world.fetchModule(request, true)
    : world.fetchHub(request, true)
}

/** Returns what is wrong with the answer to a request; null: nothing. */
async function findProblem(
  caller: Caller,
  sent: GeneratedRequest,
): Promise<{ status: number; problem: string | null }> {
  const response = await within(fetchAs(caller, sent))
  if (!response) return { status: 0, problem: 'no answer' }
  const { status } = response
  const text = await response.text()
  return { status, problem: judge(caller, sent, status, text) }
}

function judge(
  caller: Caller,
  sent: GeneratedRequest,
  status: number,
  text: string,
): string | null {
  if (status >= 500) return `${status} ${text.slice(0, 200)}`
  const shown = findPrivateText(world, caller, text)
  if (shown) return shown
  return findSchemaProblem(sent, status, text)
}

/** Every answer is JSON: an error with its fields, or what the route declares. A slash at the end moves, without a body. */
function findSchemaProblem(sent: GeneratedRequest, status: number, text: string): string | null {
  if (status === 308) return text === '' ? null : `308 ${text.slice(0, 120)}`
  try {
    const body = JSON.parse(text)
    if (status >= 400) {
      expect(body).toMatchObject({ success: false, error: expect.any(String) })
      expect(body.code).toMatch(/^[A-Z_]+$/)
    } else checkAnswer(sent.method, sent.path, status, body)
    return null
  } catch (error) {
    return `${status} ${text.slice(0, 120)}: ${String(error).slice(0, 200)}`
  }
}

async function within(answer: Promise<Response>): Promise<Response | null> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), hangMs)
  })
  try {
    return await Promise.race([answer, timeout])
  } finally {
    clearTimeout(timer)
  }
}

// First: generated requests may delete or close what it looks for.
test('T14: the search for private data finds it where its owner reads it', async () => {
  const owner = { column: 'owner', owner: 'olga', sees: [] } as const
  const read = (path: string): GeneratedRequest => ({
    method: 'GET',
    path,
    headers: {},
    body: null,
  })
  const { problem } = await findProblem(
    { ...owner, sees: [] },
    read(`/conversations/${world.conversationId}/messages`),
  )
  expect(problem).toMatch(/^private: dm/)
  const admin = { ...owner, column: 'admin' as const, sees: [] }
  const approvals = await findProblem(admin, read('/approvals?status=all'))
  expect(approvals.problem).toMatch(/^private: approval/)
  const trace = await findProblem(admin, read(`/activations/${world.activationId}`))
  expect(trace.problem).toMatch(/^private: trace/)
})

test.each(seeds)(
  'T14 H2 M9: generated requests get no 5xx, no private data and only declared answers: seed %i',
  { timeout: 100_000 + runs * 200 },
  async (seed) => {
    const requests = fc.sample(fc.tuple(fc.constantFrom(...callers), generateRequest(api, known)), {
      seed,
      numRuns: runs,
    })
    const problems: string[] = []
    const answered = new Map<number, number>()
    for (const [index, [caller, sent]] of requests.entries()) {
      if (caller.column === 'admin' && (changesCallers(sent) || holdsHub(sent))) continue
      const { status, problem } = await findProblem(caller, sent)
      answered.set(status, (answered.get(status) ?? 0) + 1)
      if (problem === null) continue
      const { method, path, headers, body } = sent
      problems.push(
        `${index} ${caller.column} of ${caller.owner}: ${method} ${path.slice(0, 300)} ` +
          `${JSON.stringify(headers)} ${body?.slice(0, 300)}\n  ${problem}`,
      )
    }
    expect(problems.join('\n')).toBe('')
    // Requests reached the handlers: many succeeded, and each kind of refusal occurred.
    expect(answered.get(200) ?? 0).toBeGreaterThan(runs / 20)
    for (const status of [201, 400, 401, 403, 404]) {
      expect(answered.get(status) ?? 0, String(status)).toBeGreaterThan(0)
    }
  },
)
