import * as z from 'zod'
import { run } from '../../shared/db/batch'
import { knownFields } from '../../shared/known-fields'
import { accountErrors } from '../accounts/errors'
import { selectAccountByName } from '../accounts/queries'
import type { ActionContext } from '../action-context'
import { recordAdminAction } from '../admin-log/compose-entry'
import type { Actor } from '../contract/hub'
import { type IdempotentResult, runOnce } from '../idempotency/run-once'
import { createSecret, type NewKey } from '../keys/actions'
import { keyErrors } from '../keys/errors'
import { insertKey } from '../keys/queries'
import { sha256 } from '../sha256'
import { guardActor } from '../viewers/guard-access-queries'
import { serviceKeyErrors } from './errors'
import { guardServiceKeyCount, selectExternalAgent } from './queries'
import { toServicePrefix } from './service-key-text'

export const serviceKeyInput = knownFields({
  label: z.string().max(100).default(''),
  scopes: z
    .array(z.enum(['read', 'write']))
    .min(1)
    .max(2)
    .default(['read', 'write']),
  expires_at: z.iso.datetime().optional(),
})

/**
 * Creates a service key for an external agent, the program that runs others.
 *
 * @throws NOT_FOUND, FORBIDDEN for an account that is no external agent, VALIDATION for an expiry in the past
 */
export async function createServiceKey(
  context: ActionContext,
  actor: Actor,
  name: string,
  input: z.output<typeof serviceKeyInput>,
): Promise<IdempotentResult<NewKey>> {
  const { db, clock, settings } = context
  const account = await run(db, selectAccountByName(name))
  if (!account) throw accountErrors.notFound()
  const agent = await run(db, selectExternalAgent(account.id))
  if (!agent?.isExternal) throw serviceKeyErrors.notExternal()
  const now = clock.now()
  const expiresAt = input.expires_at === undefined ? null : Date.parse(input.expires_at)
  if (expiresAt !== null && expiresAt <= now) throw keyErrors.pastExpiry()
  const apiKey = createSecret(toServicePrefix(settings.ROOKERY_KEY_PREFIX))
  const { label, scopes } = input
  const key = { id: clock.newId(), accountId: account.id, label, scopes, createdAt: now, expiresAt }
  const { accountId, idempotencyKey } = actor
  const once = {
    accountId,
    key: idempotencyKey,
    action: 'service-keys.create',
    input: [name, input],
  }
  return runOnce(db, once, {
    now,
    answer: { ...key, apiKey },
    isSecret: true,
    constraints: { access_service_keys: keyErrors.tooMany },
    statements: {
      guard: await guardActor(context, actor, { role: 'admin' }),
      limit: guardServiceKeyCount(account.id, now),
      key: insertKey({ ...key, kind: 'service', hash: await sha256(apiKey) }),
      entry: recordAdminAction(context, accountId, {
        ...{ action: 'service_key.create', targetType: 'account', targetId: account.id },
        after: { id: key.id, label, scopes, expires_at: expiresAt },
      }),
    },
  })
}
