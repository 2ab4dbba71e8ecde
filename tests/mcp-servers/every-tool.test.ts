import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import type { GrantPolicy } from '../../src/hub/contract/hub'
import { servers } from '../../src/mcp-servers/servers'
import { fakeConnect } from '../support/fake-connect'
import { adaOutside, scoutAtWork } from '../support/fake-hub-api'
import { setUpTools as setUp } from '../support/set-up-tools'
import { waitForServer } from './servers/open-database'

/** Arguments that are right, for every tool there is. */
const rightArguments: Record<string, unknown> = {
  hub_search: { query: 'keys' },
  hub_get_thread: { post_id: 'post-1' },
  hub_get_feed: {},
  hub_get_notifications: {},
  hub_get_profile: { name: 'ada' },
  hub_budget_status: {},
  hub_discover: {},
  hub_send_dm: { to: '@ada', message: 'Hello.' },
  hub_vote: { post_id: 'post-1', value: 'up' },
  hub_create_post: { community: 'general', title: 'A title' },
  hub_ask: { agent: 'ada', question: 'Which keys?', community: 'general', wait_seconds: 0 },
  hub_create_comment: { post_id: 'post-1', content: 'A comment' },
  memory_remember_fact: { text: 'Ada keeps the keys.' },
  memory_forget_fact: { id: 1 },
  memory_list_facts: {},
  memory_update_plan: { steps: [{ title: 'Search' }] },
  memory_add_task: { text: 'Tell Ada.' },
  memory_complete_task: { id: 1 },
  skills_read_skill: { name: 'keys' },
  workspace_list_files: {},
  workspace_read_file: { path: 'kept.md' },
  workspace_write_file: { path: 'kept.md', content: 'Kept.' },
  workspace_delete_file: { path: 'nothing.md' },
  results_read: { handle: 'zzzzzzzzz.1' },
  http_request: { service: 'weather', path: '/today' },
  github_list_repos: {},
  github_get_file: { owner: 'acme', repo: 'tools', path: 'README.md' },
  github_search_code: { query: 'retry' },
  github_list_issues: { owner: 'acme', repo: 'tools' },
  github_get_issue: { owner: 'acme', repo: 'tools', number: 1 },
  github_create_issue: { owner: 'acme', repo: 'tools', title: 'A leak' },
  github_add_comment: { owner: 'acme', repo: 'tools', number: 1, body: 'Mine too.' },
  github_list_pull_requests: { owner: 'acme', repo: 'tools' },
  github_get_pull_request: { owner: 'acme', repo: 'tools', number: 2 },
  github_create_pull_request: {
    owner: 'acme',
    repo: 'tools',
    title: 'Better',
    head: 'topic',
    base: 'main',
  },
  postgres_query: { database: 'main', sql: 'SELECT 1' },
  postgres_execute: { database: 'main', sql: 'SELECT 1' },
  github_trigger_workflow: { owner: 'acme', repo: 'tools', workflow: 'release.yml', ref: 'main' },
  brave_search: { query: 'tin' },
  brave_summarize: { query: 'tin' },
  aws_s3_get: { bucket: 'artifacts', key: 'a' },
  aws_s3_list: { bucket: 'artifacts' },
  aws_s3_put: { bucket: 'artifacts', key: 'a', content: 'b' },
  aws_s3_delete: { bucket: 'artifacts', key: 'a' },
  aws_lambda_invoke: { function: 'double' },
  aws_ssm_get: { path: '/shop/prod/url' },
}

/** The tools that answer as of a time, and what they ask of the hub. `tools-as-it-was.test.ts` and `past-facts.test.ts` compare their answers. */
const answersAsOf = new Map([
  ['hub_search', ['search']],
  ['hub_get_thread', ['readThread']],
  ['hub_get_feed', ['readFeed']],
  ['memory_list_facts', []],
])

const registered = servers.flatMap((server) =>
  server.tools.map((tool) => ({ name: `${server.name}_${tool.name}`, tool, server })),
)

/** What those arguments need, where it depends on them. */
const rightGrants: Record<string, string> = {
  http_request: 'http:weather:read',
  aws_s3_get: 'aws:s3:read:artifacts',
  aws_s3_list: 'aws:s3:read:artifacts',
  aws_s3_put: 'aws:s3:write:artifacts',
  aws_s3_delete: 'aws:s3:write:artifacts',
  aws_lambda_invoke: 'aws:lambda:invoke:double',
  aws_ssm_get: 'aws:ssm:read:/shop/prod/url',
  postgres_query: 'postgres:main:read',
  postgres_execute: 'postgres:main:write',
}
const grantOf = ({ name, tool }: Pick<(typeof registered)[number], 'name' | 'tool'>): string =>
  rightGrants[name] ?? tool.grantShape

/** Every grant that some tool here needs, but this one; and those that differ in one segment. */
const othersThan = (grant: string): string[] => [
  ...new Set(registered.map(grantOf).filter((each) => each !== grant)),
  ...grant.split(':').map((_, at) => grant.split(':').with(at, 'else').join(':')),
]

// What the arguments name is there.
beforeAll(waitForServer, 120_000)
beforeAll(async () => {
  await env.FILES.put('workspace/account-scout/kept.md', 'Kept.')
  await env.FILES.put('results/zzzzzzzzz/account-scout/1', 'Long.')
})

describe('every registered tool', () => {
  test('M1: has arguments in these tests, a description, a closed schema and words for watchers', () => {
    expect(registered.map(({ name }) => name).sort()).toEqual(Object.keys(rightArguments).sort())
    for (const { tool } of registered) {
      expect(tool.description.length, `the description of ${tool.name}`).toBeGreaterThan(60)
      expect(tool.readInputSchema()).toMatchObject({ type: 'object', additionalProperties: false })
      expect(tool.readInputSchema()).toBe(tool.readInputSchema())
      expect(tool.doing).toMatch(/^[a-z ]+$/)
    }
  })

  test.each(registered)(
    'L26: $name takes null for whatever may be absent, and its arguments as JSON text',
    ({ name, tool }) => {
      const right = rightArguments[name] as Record<string, unknown>
      const { properties = {}, required = [] } = tool.readInputSchema() as {
        properties?: object
        required?: string[]
      }
      const optional = Object.keys(properties).filter(
        (key) => !required.includes(key) && !(key in right),
      )
      const nulls = Object.fromEntries(optional.map((key) => [key, null]))
      const expected = { grant: grantOf({ name, tool }), args: right }
      expect(tool.prepare({ ...nulls, ...right })).toMatchObject(expected)
      expect(tool.prepare(JSON.stringify({ ...nulls, ...right }))).toMatchObject(expected)
      expect(tool.prepare(null).ok).toBe(tool.prepare({}).ok)
    },
  )

  test.each(registered)(
    'M1, L28, M4: $name works with its grant, and with all others neither is listed nor runs',
    async ({ name, tool, server }) => {
      const grant = grantOf({ name, tool })
      const args = rightArguments[name]
      const opened = vi.fn(fakeConnect)
      const requested = tool.isForOutside ? null : [grant]
      const open = setUp({ requested, allowed: [grant] }, opened)
      expect(open.names()).toContain(name)
      const { text, isError } = await open.call(name, args)
      expect(isError, text).toBe(false)
      expect(opened).toHaveBeenCalledTimes(server.services ? 1 : 0)

      // who may use any tool may read on in its results
      const isImplied = grant === 'results:read'
      const closed: Partial<GrantPolicy>[] = [
        { requested: [] },
        { allowed: [] },
        { denied: [grant] },
        ...(isImplied ? [] : [{ requested: othersThan(grant) }, { allowed: othersThan(grant) }]),
      ].filter((policy) => requested !== null || !('requested' in policy))
      const connect = vi.fn(fakeConnect)
      for (const policy of closed) {
        const whole = {
          requested: requested && ['*', grant],
          allowed: ['*', grant],
          ...policy,
        }
        const { names, call, calls } = setUp(whole, connect)
        // of another grant, some other resource may be within reach of the same tool
        const isNothing = policy.requested?.length === 0 || policy.allowed?.length === 0
        if (isNothing || grant === tool.grantShape) expect(names()).not.toContain(name)
        expect((await call(name, args)).text).toContain(`Error: Missing grant ${grant}:`)
        expect(calls.map(({ method }) => method)).toEqual(['readAuthorization'])
      }
      // a credential is looked for only once the call is decided (M5)
      expect(connect).not.toHaveBeenCalled()
    },
  )

  test.each(registered)(
    'M4: $name stops working between two calls when its grant is revoked',
    async ({ name, tool }) => {
      const grant = grantOf({ name, tool })
      const requested = tool.isForOutside ? null : ['*', grant]
      const lists = { requested, allowed: ['*', grant] }
      const connect = vi.fn(fakeConnect)
      const { call, policy, names } = setUp(lists, connect)
      expect((await call(name, rightArguments[name])).isError).toBe(false)
      expect(names()).toContain(name)
      connect.mockClear()
      policy.denied = [tool.grantShape]
      expect((await call(name, rightArguments[name])).text).toMatch(/^Error: Missing grant /)
      expect(names()).not.toContain(name)
      expect(connect).not.toHaveBeenCalled()
    },
  )

  test('M4: hub_ask, which would hold up a run, is for callers from outside only', async () => {
    const { names, call, calls } = setUp()
    expect(names()).not.toContain('hub_ask')
    const { text } = await call('hub_ask', rightArguments.hub_ask)
    expect(text).toContain('only callers from outside can use it')
    expect(calls.map(({ method }) => method)).toEqual(['readAuthorization'])
  })

  test('M7 M8: what a policy says about a tool holds for every tool that does the same', async () => {
    const question = { agent: 'ada', question: 'Which keys?', wait_seconds: 0 }
    const calls: [string, unknown][] = [
      ...Object.entries(rightArguments).filter(([name]) => name.startsWith('hub_')),
      ['hub_ask', question],
      ['hub_ask', { ...question, post_id: 'post-1' }],
    ]
    const writes = { createPost: 'hub_create_post', createComment: 'hub_create_comment' }
    const tools: Record<string, string> = { ...writes, sendDm: 'hub_send_dm', vote: 'hub_vote' }
    const use = async (name: string, args: unknown, rules: Parameters<typeof setUp>[0] = {}) => {
      const made = setUp({ requested: null, ...rules })
      const { audit, text } = await made.call(name, args, adaOutside)
      const methods = made.calls.map(({ method }) => method)
      return { decision: audit.decision, text, methods, asked: made.asked }
    }
    const found: string[] = []
    for (const [name, args] of calls) {
      const { methods, text } = await use(name, args)
      const same = methods.map((method) => tools[method]).find((tool) => tool !== undefined)
      if (!same) continue
      found.push(`${name} as ${same}`)
      const ruled = await use(name, args, { requireApproval: [`tool:${same}`] })
      expect(ruled.decision, `${name}: ${text}`).toBe('needs_approval')
      expect(ruled.methods.filter((method) => method in tools)).toEqual([])
      const limited = await use(name, args, {
        rateLimits: [{ tool: same, per: 'hour', limit: 1, scope: 'agent' }],
      })
      expect(limited.asked('takeRateLimit'), name).toHaveLength(1)
    }
    expect(found).toEqual(
      expect.arrayContaining(['hub_ask as hub_send_dm', 'hub_vote as hub_vote']),
    )
    expect(found.filter((each) => each.startsWith('hub_ask'))).toHaveLength(3)
    const waiting = await use(
      'hub_ask',
      { link: '/dm/conversation-1', wait_seconds: 0 },
      {
        requireApproval: Object.values(tools).map((tool) => `tool:${tool}`),
      },
    )
    expect(waiting.decision).toBe('allowed')
    const named = new Set(registered.map(({ name }) => name))
    for (const { tool } of registered) for (const each of tool.actsAs) expect(named).toContain(each)
  })

  test.each(registered)(
    'P2: $name answers as of a time, or says that it cannot, and writes nothing',
    async ({ name, tool }) => {
      const at = Date.UTC(2026, 0, 1)
      const grant = grantOf({ name, tool })
      const connect = vi.fn(fakeConnect)
      const made = setUp(
        { requested: tool.isForOutside ? null : [grant], allowed: [grant] },
        connect,
      )
      const caller = tool.isForOutside ? adaOutside : scoutAtWork
      const result = await made.call(name, rightArguments[name], { ...caller, at })
      const answers = answersAsOf.has(name)
      expect(made.gateway.describe(name)?.answersAsOf).toBe(answers)
      const prepared = tool.prepare(rightArguments[name])
      const kind = prepared.ok && prepared.tier === 'read' ? 'not_recorded' : 'would_write'
      expect(
        { isError: result.isError, at: result.asOf?.at, not: result.notAsOf },
        result.text,
      ).toEqual({
        isError: !answers,
        at: answers ? at : undefined,
        not: answers ? undefined : kind,
      })
      expect(made.calls.map(({ method }) => method)).toEqual([
        'readAuthorization',
        ...(answersAsOf.get(name) ?? []),
      ])
      expect(
        made.calls.filter(({ args }) => JSON.stringify(args).includes(`"at":${at}`)),
      ).toHaveLength(answersAsOf.get(name)?.length ?? 0)
      expect(connect).not.toHaveBeenCalled()
      // It is not for models.
      expect(JSON.stringify(tool.readInputSchema())).not.toMatch(/"(at|as_of)"/)
      expect(
        (await made.call(name, { ...(rightArguments[name] as object), at }, caller)).isError,
      ).toBe(true)
    },
  )

  test('P2: a call as of a time is decided like any other, takes from no limit, and asks for no approval', async () => {
    const asOf = { ...scoutAtWork, at: 1 }
    const limit = { tool: 'hub_get_feed', per: 'hour', limit: 1, scope: 'agent' } as const
    const limited = setUp({ rateLimits: [limit] })
    expect((await limited.call('hub_get_feed', {}, asOf)).isError).toBe(false)
    expect(limited.asked('takeRateLimit')).toEqual([])
    const denied = await setUp({ denied: ['hub:read'] }).call('hub_get_feed', {}, asOf)
    expect(denied.text).toMatch(/^Error: Missing grant hub:read/)
    expect(denied.notAsOf).toBeUndefined()
    for (const caller of [asOf, { ...adaOutside, at: 1 }]) {
      const ruled = setUp({ requested: null, requireApproval: ['tool:hub_create_post'] })
      const parked = await ruled.call('hub_create_post', rightArguments.hub_create_post, caller)
      expect(parked).toMatchObject({ approval: { tool: 'hub_create_post' }, isError: true })
      expect(parked.notAsOf).toBeUndefined()
      expect(ruled.calls.map(({ method }) => method)).toEqual(['readAuthorization'])
    }
    const wrong = await setUp().call('hub_get_thread', { post_id: 1 }, asOf)
    expect(wrong.audit.decision).toBe('invalid')
    expect(wrong.notAsOf).toBeUndefined()
  })

  test.each(registered)('M1: $name refuses a field it does not know', async ({ name }) => {
    const { call, calls } = setUp()
    const result = await call(name, { ...(rightArguments[name] as object), surprise: 1 })
    expect(result.text).toContain('"surprise"')
    expect(calls).toEqual([])
  })
})
