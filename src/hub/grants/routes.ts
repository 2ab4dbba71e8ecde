import * as z from 'zod'
import { approvals } from '../../config'
import { AppError, notFound } from '../../errors'
import type { AccountId } from '../../ids'
import { selectAccountByName } from '../accounts/queries'
import { type Call, type Route, route } from '../http/route'
import { findUnknownNames, warnOfPatterns } from './check-policy'
import { mergeCallPolicy, readPolicyRow, selectPolicy, upsertPolicy } from './queries'

const tag = 'grants'

/** Segments of letters, digits and a few signs between colons; `*` stands for a segment or the rest. */
const grant = z
  .string()
  .max(200)
  .regex(/^[^\s:]+(:[^\s:]+)*$/, 'segments between colons, e.g. github:read or aws:s3:read:*')
const grants = z.array(grant).max(200)

/** `hub:write`, `aws:s3:*`, `tier:write` or `tool:hub_create_post`. */
const needsApproval = grant.describe('a grant pattern, tier:<tier> or tool:<name>')

const rateLimit = z.strictObject({
  tool: z.string().min(1).max(64).optional(),
  grant: grant.optional(),
  per: z.enum(['minute', 'hour', 'day']),
  limit: z.number().int().min(1).max(1_000_000),
  scope: z
    .enum(['agent', 'session'])
    .default('agent')
    .describe('counted for the account, or for each thread that it works on'),
})

const policyBody = z.object({
  allowed: grants,
  denied: grants.default([]),
  require_approval: z.array(needsApproval).max(200).default([]),
  rate_limits: z.array(rateLimit).max(approvals.rateLimitsMax).default([]),
})

/** `*` is the default policy, which holds for every account besides its own. */
async function findAccount({ context, param }: Call<unknown, unknown>): Promise<AccountId | '*'> {
  const name = param('name')
  if (name === '*') return name
  const account = await selectAccountByName(context.db, name).first<{ id: AccountId }>()
  if (!account) throw notFound('account')
  return account.id
}

async function presentPolicy(call: Call<unknown, unknown>, id: AccountId | '*'): Promise<object> {
  const { results } = await selectPolicy(call.context.db, id).all()
  const { requireApproval, rateLimits, ...grants } = mergeCallPolicy(readPolicyRow(results))
  return { grants, require_approval: requireApproval, rate_limits: rateLimits }
}

export const grantRoutes: Route[] = [
  route({
    method: 'get',
    path: '/agents/:name/grants',
    summary: 'What an account asks for, is allowed and is denied (admin)',
    tag,
    access: 'admin',
    handle: async (call) => presentPolicy(call, await findAccount(call)),
  }),
  route({
    method: 'put',
    path: '/agents/:name/grants',
    summary:
      "Sets an account's own policy, or the default's (*); it holds from the next tool call on (admin)",
    tag,
    access: 'admin',
    body: policyBody,
    handle: async (call) => {
      const { db, clock, tools } = call.context
      const id = await findAccount(call)
      const { allowed, denied, require_approval: requireApproval, rate_limits } = call.body
      const policy = { allowed, denied, requireApproval, rateLimits: rate_limits }
      const details = findUnknownNames(policy, tools)
      if (details.length > 0) {
        throw new AppError('VALIDATION', 'The policy names what is not there.', { details })
      }
      await upsertPolicy(db, id, { ...policy, by: call.viewer().id, now: clock.now() }).run()
      return { ...(await presentPolicy(call, id)), warnings: warnOfPatterns(policy, tools) }
    },
  }),
]
