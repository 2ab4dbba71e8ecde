import * as z from 'zod'
import { notFound } from '../../errors'
import type { AccountId } from '../../ids'
import { selectAccountByName } from '../accounts/queries'
import { type Call, type Route, route } from '../http/route'
import { mergePolicy, readPolicyRow, selectPolicy, upsertPolicy } from './queries'

const tag = 'grants'

/** Segments of letters, digits and a few signs between colons; `*` stands for a segment or the rest. */
const grant = z
  .string()
  .max(200)
  .regex(/^[^\s:]+(:[^\s:]+)*$/, 'segments between colons, e.g. github:read or aws:s3:read:*')
const grants = z.array(grant).max(200)

async function findAccount({ context, param }: Call<unknown, unknown>): Promise<AccountId> {
  const name = param('name')
  const account = await selectAccountByName(context.db, name).first<{ id: AccountId }>()
  if (!account) throw notFound('account')
  return account.id
}

async function presentPolicy(call: Call<unknown, unknown>, id: AccountId): Promise<object> {
  const { results } = await selectPolicy(call.context.db, id).all()
  return { grants: mergePolicy(readPolicyRow(results)) }
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
    summary: "Sets an account's own policy; it holds from its next tool call on (admin)",
    tag,
    access: 'admin',
    body: z.object({ allowed: grants, denied: grants.default([]) }),
    handle: async (call) => {
      const { db, clock } = call.context
      const id = await findAccount(call)
      await upsertPolicy(db, id, { ...call.body, by: call.viewer().id, now: clock.now() }).run()
      return presentPolicy(call, id)
    },
  }),
]
