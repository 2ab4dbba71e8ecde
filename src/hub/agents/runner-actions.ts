import * as z from 'zod'
import type { RunnerConnection } from '../../agents/contract/agents'
import { runnerLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import { knownFields } from '../../shared/known-fields'
import { sha256 } from '../../shared/sha256'
import type { Actor } from '../contract/hub'
import { accountTag, keyTag } from '../contract/live-event'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction, recordIfChanged } from '../database/admin-log-queries'
import { type IdempotentResult, runOnce } from '../database/run-once'
import { createSecret } from '../sign-in/key-actions'
import { guardActor } from '../viewers/queries'
import { deleteRunnerKey, insertRunnerKey, selectRunnerKey, touchRunnerKey } from './runner-queries'

/** Errors of runners and their keys, as users read them. */
const runnerErrors = {
  noKey: () =>
    new AppError('UNAUTHORIZED', 'The runner key is not valid.', {
      hint: 'An admin makes one on the page /runners of the hub. Start the runner with it in ROOKERY_RUNNER_KEY.',
    }),
  keyNotFound: () => notFound('runner key', 'It may have been revoked already.'),
  runnerNotFound: () => notFound('runner', 'It may have been removed already.'),
  connected: () =>
    new AppError('CONFLICT', 'The runner is connected.', {
      hint: 'Stop its process, or revoke its key. A runner that is not connected can be removed.',
    }),
  tooMany: (cause: unknown) =>
    new AppError(
      'CONFLICT',
      `This hub has ${runnerLimits.keysMax} runner keys, the most it can have.`,
      {
        hint: 'Revoke a key that is no longer used. Several runners can use one key, under different names.',
        cause,
      },
    ),
}

export const runnerKeyInput = knownFields({
  label: z
    .string()
    .trim()
    .max(runnerLimits.keyLabelCharsMax)
    .default('')
    .describe('For admins, such as the machine that it is for.'),
})

export const drainInput = knownFields({
  is_draining: z.boolean().describe('True: the runner takes no further runs; those it has go on.'),
})

interface NewRunnerKey {
  id: string
  /** The key itself; returned only once. */
  apiKey: string
  label: string
  createdAt: number
}

type Admin = Pick<Actor, 'accountId'>

/** Creates a key that runners connect with. @throws CONFLICT when the hub has too many */
export async function createRunnerKey(
  context: ActionContext,
  actor: Pick<Actor, 'accountId' | 'keyId' | 'idempotencyKey'>,
  input: z.output<typeof runnerKeyInput>,
): Promise<IdempotentResult<NewRunnerKey>> {
  const { db, clock, settings } = context
  const { accountId, idempotencyKey } = actor
  const { label } = input
  const now = clock.now()
  const apiKey = createSecret(`${settings.ROOKERY_KEY_PREFIX}runner_`)
  const answer: NewRunnerKey = { id: clock.newId(), apiKey, label, createdAt: now }
  const { id } = answer
  const once = { accountId, key: idempotencyKey, action: 'runner_keys.create', input }
  return runOnce(db, once, {
    now,
    answer,
    isSecret: true,
    constraints: { 'runner_keys.label': runnerErrors.tooMany },
    statements: {
      guard: await guardActor(context, actor, { role: 'admin' }),
      key: insertRunnerKey({ id, accountId, hash: await sha256(apiKey), label, createdAt: now }),
      entry: recordAdminAction(context, accountId, {
        action: 'runner_key.create',
        targetType: 'runner_key',
        targetId: id,
        after: { label },
      }),
    },
  })
}

/** Deletes a key; the runners that use it are disconnected, their tokens end, and what they run is lost. @throws NOT_FOUND */
export async function revokeRunnerKey(
  context: ActionContext,
  admin: Admin,
  id: string,
): Promise<void> {
  const { isDeleted } = await batch(context.db, {
    isDeleted: deleteRunnerKey(id),
    entry: recordIfChanged(context, admin.accountId, {
      action: 'runner_key.revoke',
      targetType: 'runner_key',
      targetId: id,
    }),
  })
  // Also when it was deleted before: that attempt may have ended here.
  await context.agents.runners.disconnect([keyTag(id)])
  if (!isDeleted) throw runnerErrors.keyNotFound()
}

/** Lets a runner take no further runs, or runs again. @throws NOT_FOUND */
export async function drainRunner(
  context: ActionContext,
  admin: Admin,
  id: string,
  { is_draining: isDraining }: z.output<typeof drainInput>,
): Promise<void> {
  const { db, agents } = context
  const action = isDraining ? 'runner.drain' : 'runner.resume'
  const entry = { action, targetType: 'runner', targetId: id }
  await run(db, recordAdminAction(context, admin.accountId, entry))
  if (!(await agents.runners.setDraining(id, isDraining))) throw runnerErrors.runnerNotFound()
}

/** Removes a runner that is not connected from the list. @throws NOT_FOUND, CONFLICT */
export async function removeRunner(
  context: ActionContext,
  admin: Admin,
  id: string,
): Promise<void> {
  const { db, agents } = context
  const entry = { action: 'runner.remove', targetType: 'runner', targetId: id }
  await run(db, recordAdminAction(context, admin.accountId, entry))
  const result = await agents.runners.remove(id)
  if (result === 'unknown') throw runnerErrors.runnerNotFound()
  if (result === 'connected') throw runnerErrors.connected()
}

/**
 * Returns the connection of a runner with a valid key.
 *
 * @param hash SHA-256 of the key, hex; null: the request has none
 * @throws UNAUTHORIZED
 */
export async function authenticateRunner(
  { db, clock, defer }: ActionContext,
  hash: string | null,
  origin: string,
): Promise<RunnerConnection> {
  const now = clock.now()
  const key = hash === null ? undefined : await run(db, selectRunnerKey(hash, now))
  if (!key) throw runnerErrors.noKey()
  defer(run(db, touchRunnerKey(key.id, now)))
  const { id: keyId, accountId } = key
  return { keyId, accountId, origin, tags: [accountTag(accountId), keyTag(keyId)] }
}
