import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import type { GrantPolicy } from '../../src/hub/contract'
import { servers } from '../../src/mcp-servers/servers'
import { setUpTools as setUp } from '../support/set-up-tools'

/** Arguments that are right, for every tool there is. */
const rightArguments: Record<string, unknown> = {
  hub_search: { query: 'keys' },
  hub_get_thread: { post_id: 'post-1' },
  hub_get_feed: {},
  hub_get_notifications: {},
  hub_get_profile: { name: 'ada' },
  hub_budget_status: {},
  hub_create_post: { community: 'general', title: 'A title' },
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
}

const siblingOf = (grant: string) => (grant === 'hub:read' ? 'hub:write' : 'hub:read')
const registered = servers.flatMap((server) =>
  server.tools.map((tool) => ({ name: `${server.name}_${tool.name}`, tool })),
)

// What the arguments name is there.
beforeAll(async () => {
  await env.FILES.put('workspace/account-scout/kept.md', 'Kept.')
  await env.FILES.put('results/zzzzzzzzz/account-scout/1', 'Long.')
})

describe('every registered tool', () => {
  test('M1: has arguments in these tests, a description, a closed schema and words for watchers', () => {
    expect(registered.map(({ name }) => name).sort()).toEqual(Object.keys(rightArguments).sort())
    for (const { tool } of registered) {
      expect(tool.description.length).toBeGreaterThan(60)
      expect(tool.readInputSchema()).toMatchObject({ type: 'object', additionalProperties: false })
      expect(tool.readInputSchema()).toBe(tool.readInputSchema())
      expect(tool.doing).toMatch(/^[a-z ]+$/)
    }
  })

  test.each(registered)(
    'M1, L28: $name works with its grant, and not without',
    async ({ name, tool }) => {
      const grant = tool.grantShape
      const args = rightArguments[name]
      const open = setUp({ requested: [grant], allowed: [grant] })
      expect(open.names()).toContain(name)
      expect((await open.call(name, args)).isError).toBe(false)

      const closed: Partial<GrantPolicy>[] = [
        { requested: [] },
        { allowed: [] },
        { denied: [grant] },
        { requested: [siblingOf(grant)] },
        { allowed: [siblingOf(grant)] },
      ]
      for (const policy of closed) {
        const { names, call, calls } = setUp(policy)
        expect(names()).not.toContain(name)
        expect((await call(name, args)).text).toMatch(
          new RegExp(`^Error: Missing grant ${grant}\\b`),
        )
        const isGuarded = name.startsWith('hub_') && tool.tier === 'read'
        const decided = isGuarded ? 'guardReads' : 'readFacts'
        expect(calls.map(({ method }) => method)).toEqual([decided])
      }
    },
  )

  test.each(registered)(
    'M4: $name stops working between two calls when its grant is revoked',
    async ({ name, tool }) => {
      const { call, policy, names } = setUp()
      expect((await call(name, rightArguments[name])).isError).toBe(false)
      policy.denied = [tool.grantShape]
      expect((await call(name, rightArguments[name])).text).toMatch(/^Error: Missing grant /)
      expect(names()).not.toContain(name)
    },
  )

  test.each(registered)('M1: $name refuses a field it does not know', async ({ name }) => {
    const { call, calls } = setUp()
    const result = await call(name, { ...(rightArguments[name] as object), surprise: 1 })
    expect(result.text).toContain('"surprise"')
    expect(calls).toEqual([])
  })
})
