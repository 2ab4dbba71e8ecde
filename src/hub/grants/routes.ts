import * as z from 'zod'
import { type Call, type Route, route } from '../http/route'
import { type PolicySet, readPolicies, setPolicy } from './actions'
import { policyBody, presentPolicy, toPolicy } from './policy-body'
import { type AccountPolicyRow, policyOf, readOwn, selectVisiblePolicies } from './policy-queries'
import { presentVerdict } from './present'
import { findDropped, type PolicyChange } from './preview'

const tag = 'grants'

const nobody = { hash: '', isSession: false, isAdminKey: false }

/** What counts for an account, and what it is made of. */
function presentRow({ context: { tools } }: Call<unknown, unknown>, row: AccountPolicyRow): object {
  const { requireApproval, rateLimits, toolsVersion: _, ...grants } = policyOf(row)
  const own = readOwn(row)
  return {
    grants,
    require_approval: requireApproval,
    rate_limits: rateLimits,
    own: own && presentPolicy(own),
    dropped: findDropped(grants, tools),
  }
}

const presentChange = ({ name, gains, loses, asks, asksNoMore }: PolicyChange): object => ({
  /** Null: everybody without rules of their own. */
  account: name || null,
  ...{ gains, loses, asks, asks_no_more: asksNoMore },
})

const presentSet = ({ warnings, changes }: PolicySet): object => ({
  warnings,
  changes: changes.map(presentChange),
})

const dryRun = z.object({
  dry_run: z.enum(['true', 'false']).default('false').describe('true only tells what it would do'),
})

async function answerWrite(
  call: Call<z.output<typeof dryRun>, unknown>,
  policy: ReturnType<typeof toPolicy> | null,
): Promise<object> {
  const name = call.param('name')
  const isDryRun = call.query.dry_run === 'true'
  const done = await setPolicy(call.context, { name, policy, by: call.viewer().id, isDryRun })
  const { target } = await readPolicies(call.context, name)
  return { ...presentRow(call, target), ...presentSet(done) }
}

export const grantRoutes: Route[] = [
  route({
    method: 'get',
    path: '/agents/:name/grants',
    summary:
      'What an account asks for, is allowed and is denied, what of it is its own policy, and what it asks for in vain (admin)',
    tag,
    access: 'admin',
    handle: async (call) => {
      const { target } = await readPolicies(call.context, call.param('name'))
      return presentRow(call, target)
    },
  }),
  route({
    method: 'put',
    path: '/agents/:name/grants',
    summary:
      "Sets an account's own policy, or the default's (*); it holds from the next tool call on. Tells what that gives and takes away (admin)",
    tag,
    access: 'admin',
    query: dryRun,
    body: policyBody,
    handle: (call) => answerWrite(call, toPolicy(call.body)),
  }),
  route({
    method: 'delete',
    path: '/agents/:name/grants',
    summary: "Removes an account's own policy, so that the default holds (admin)",
    tag,
    access: 'admin',
    query: dryRun,
    handle: (call) => answerWrite(call, null),
  }),
  route({
    method: 'get',
    path: '/tools',
    summary: 'Every tool with its grant and tier, and whether you may use it',
    tag,
    access: 'own',
    handle: async ({ context: { db, clock, tools }, credential, read }) => {
      const who = { credential: credential ?? nobody, now: clock.now() }
      const { viewer, results } = await read([selectVisiblePolicies(db, who)])
      const rows = (results[0]?.results ?? []) as unknown as AccountPolicyRow[]
      const row = rows.find(({ id }) => id === viewer?.id) ?? rows.find(({ id }) => id === '*')
      if (row) await tools.refresh(policyOf(row))
      return { tools: row ? tools.judge(policyOf(row)).map(presentVerdict) : [] }
    },
  }),
]
