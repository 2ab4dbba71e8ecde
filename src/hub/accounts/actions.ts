import * as z from 'zod'
import { limits } from '../../config'
import { AppError } from '../../errors'
import type { AccountId } from '../../ids'
import type { ActionContext } from '../action-context'
import { type Done, runOnce } from '../idempotency/run-once'
import { createSecret } from '../keys/actions'
import { insertKey } from '../keys/queries'
import { sha256 } from '../sha256'
import { insertAccount, updateAccount } from './queries'
import { reservedNames } from './reserved-names'

const accountName = z
  .string()
  // What a mention can name (see find-mentions): there two hyphens are a dash.
  .regex(
    /^[a-z0-9](?:[a-z0-9_]|-(?!-)){1,31}$/,
    'two to 32 of a to z, 0 to 9, "_" and "-", beginning with a letter or digit, without "--"',
  )

export const registerInput = z.object({
  name: accountName,
  description: z.string().max(limits.account.descriptionCharsMax).default(''),
  display_name: z.string().trim().min(1).max(60).optional(),
  kind: z.enum(['agent', 'human']).default('agent'),
  role: z.enum(['member', 'admin']).default('member'),
})
export type RegisterInput = z.output<typeof registerInput>

export const profileInput = z.object({
  description: z.string().max(limits.account.descriptionCharsMax).optional(),
  display_name: z.string().trim().max(60).nullable().optional(),
  metadata: z
    .record(z.string().max(100), z.unknown())
    .refine((value) => JSON.stringify(value).length <= 8_000, 'at most 8,000 characters as JSON')
    .optional(),
})

export interface Registered {
  id: AccountId
  name: string
  kind: 'agent' | 'human'
  apiKey: string
  verificationCode: string
}

/** How one gets a key of a private hub. */
export const askAdmin =
  'This hub is private: ask an admin, who makes accounts with POST /api/v1/agents/register and the admin key.'

/** Whether only an admin may register this: people and admins everywhere, all on a private hub. */
export const needsAdmin = (isPublic: boolean, input: RegisterInput): boolean =>
  !isPublic || input.kind === 'human' || input.role === 'admin'

function refuse(by: object | null, isPublic: boolean): AppError {
  const what = isPublic ? 'people and admins' : 'accounts here'
  return new AppError(by ? 'FORBIDDEN' : 'UNAUTHORIZED', `Only an admin can register ${what}.`, {
    hint: isPublic
      ? 'Leave out kind and role to register an agent, or use the admin key.'
      : askAdmin,
  })
}

/**
 * A new account with its first key (H1, H2). The key is in the answer and nowhere else.
 *
 * @param by null for a stranger
 * @throws UNAUTHORIZED or FORBIDDEN when it needs an admin
 */
export async function register(
  context: ActionContext,
  by: { isAdmin: boolean; accountId: AccountId } | null,
  input: RegisterInput,
  idempotencyKey: string | null,
): Promise<Done<Registered>> {
  const { db, clock, settings } = context
  const isPublic = settings.ROOKERY_PUBLIC
  if (needsAdmin(isPublic, input) && !by?.isAdmin) throw refuse(by, isPublic)
  if (reservedNames.has(input.name)) throw taken(input.name)
  const now = clock.now()
  const id = clock.newId<AccountId>()
  const apiKey = createSecret(settings.ROOKERY_KEY_PREFIX)
  const hash = await sha256(apiKey)
  const answer: Registered = {
    id,
    name: input.name,
    kind: input.kind,
    apiKey,
    verificationCode: `${input.name}-${id.slice(-4)}`,
  }
  const statements = [
    insertAccount(db, {
      id,
      name: input.name,
      kind: input.kind,
      role: input.role,
      displayName: input.display_name ?? null,
      description: input.description,
      createdAt: now,
    }),
    insertKey(db, { id: clock.newId(), accountId: id, hash, kind: 'key', createdAt: now }),
  ]
  const once = { accountId: by?.accountId ?? '', key: idempotencyKey, action: 'register', input }
  try {
    return await runOnce(db, once, { now, answer, statements, isSecret: true })
  } catch (error) {
    if (String(error).includes('accounts.name')) throw taken(input.name)
    throw error
  }
}

const taken = (name: string): AppError =>
  new AppError('CONFLICT', `The name ${name} is taken.`, {
    hint: 'Choose another name.',
    details: [{ path: 'body.name', message: 'taken' }],
  })

export async function updateProfile(
  { db }: ActionContext,
  accountId: AccountId,
  input: z.output<typeof profileInput>,
): Promise<void> {
  const fields = {
    ...(input.description === undefined ? {} : { description: input.description }),
    ...(input.display_name === undefined ? {} : { displayName: input.display_name || null }),
    ...(input.metadata === undefined ? {} : { metadata: JSON.stringify(input.metadata) }),
  }
  if (Object.keys(fields).length > 0) await updateAccount(db, accountId, fields).run()
}
