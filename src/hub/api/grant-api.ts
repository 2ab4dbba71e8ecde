import { batch, run } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import { markOwnAccount, selectRunning } from '../activations/running-queries'
import { recordAdminAction } from '../admin-log/compose-entry'
import { selectApprovalsForCall, selectStatus } from '../approvals/queries'
import {
  insertExternalApproval,
  markApprovalUsed,
  toApprovalId,
} from '../approvals/request-queries'
import { toStoredRequest } from '../approvals/stored-request'
import { insertAuditEntry, updateAuditResult } from '../audit/queries'
import { explainMute } from '../bans/errors'
import { toAccessError } from '../contract/access'
import type { AdminAction, AuditEntry, GrantApi } from '../contract/hub'
import { mergeCallPolicy, mergePolicy, selectPolicy } from '../grants/queries'
import { createTakeTokensStatements } from '../grants/rate-bucket-queries'
import { maskCredentials } from '../posts/credential-patterns'
import { recordPushedBranches } from '../review-hooks/queries'
import { selectRulesForCall } from '../standing-rules/queries'
import { findBlock } from '../viewers/find-block'
import { guardAccess } from '../viewers/guard-access-queries'
import { hashAdminKey } from '../viewers/hash-admin-key'
import { selectViewer } from '../viewers/queries'

/**
 * Creates the hub's API for the gateway: policy, approvals, callers, rate limits, audit.
 *
 * @param open creates the context of one call, with its own `Db`
 */
export const createGrantApi = (open: () => ActionContext): GrantApi => ({
  readPolicy: async (accountId, activationId) =>
    mergePolicy(await run(open().db, selectPolicy(accountId, activationId))),

  readAuthorization: async (query) => {
    const { db, clock } = open()
    const { policy, ...rest } = await batch(db, {
      policy: selectPolicy(query.accountId, query.runId),
      approvals: selectApprovalsForCall(query),
      rules: selectRulesForCall(query, clock.now()),
    })
    return { policy: mergeCallPolicy(policy), ...rest }
  },

  requestApproval: async (accountId, unmasked, runId = null) => {
    const { db, clock, settings } = open()
    const request = toStoredRequest(unmasked, settings)
    const id = runId === null ? clock.newId() : toApprovalId(runId, request.callId)
    const approval = { id, accountId, runId, request, now: clock.now() }
    await batch(db, { approval: insertExternalApproval(approval) })
  },

  readApprovalStatus: async (runId, callId) =>
    (await run(open().db, selectStatus({ id: toApprovalId(runId, callId) })))?.status ?? null,

  consumeApproval: async (approvalId, accountId, entry, activationId = null) => {
    const context = open()
    const id = context.clock.newId()
    const { isUsed } = await batch(context.db, {
      isUsed: markApprovalUsed(approvalId, id),
      entry: insertAuditEntry(id, accountId, maskEntry(context, entry), activationId, approvalId),
    })
    return isUsed ? { id } : null
  },

  markOwnAccount: (activationId) => run(open().db, markOwnAccount({ activationId })),

  takeRateLimit: async (buckets, now) => {
    const { shortMs, isTaken } = await batch(open().db, createTakeTokensStatements(buckets, now))
    return { isTaken, retryMs: Math.max(0, Math.ceil(shortMs)) }
  },

  findCaller: (keyHash, now) => findCaller(open(), keyHash, now),

  findActivation: async (id) => {
    const { db, clock } = open()
    return (await run(db, selectRunning(id, clock.now()))) ?? null
  },

  recordIntent: async (accountId, entry, activationId = null) => {
    const context = open()
    const id = context.clock.newId()
    await run(context.db, insertAuditEntry(id, accountId, maskEntry(context, entry), activationId))
    return { id }
  },

  recordAdminAction: (admin, action) => recordAction(open(), admin, action),

  guardSender: ({ keyId }) => guardAccess(open(), keyId),

  recordResult: async (id, result) => {
    await batch(open().db, {
      result: updateAuditResult(id, result),
      pushed: result.outcome === 'ok' ? recordPushedBranches({ entryId: id }) : null,
    })
  },
})

async function findCaller(
  { db, settings }: ActionContext,
  keyHash: string,
  now: number,
): ReturnType<GrantApi['findCaller']> {
  const adminKeyHash = await hashAdminKey(settings)
  const isAdminKey = keyHash === adminKeyHash
  const credential = { hash: keyHash, isSession: false, isAdminKey, adminKeyHash }
  const viewer = await run(db, selectViewer(credential, now))
  if (!viewer) return null
  const block = findBlock(viewer)
  if (block) throw block
  const { id, name, kind, keyId, restriction: mute } = viewer
  const scopes = viewer.scopes.filter((scope) => scope === 'read' || mute === null)
  return {
    ...{ id, name, kind, keyId, scopes },
    ...(viewer.role === 'admin' && { isAdmin: true }),
    ...(mute !== null && { writeBlock: explainMute(mute) }),
  }
}

async function recordAction(
  context: ActionContext,
  { id, keyId }: Parameters<GrantApi['recordAdminAction']>[0],
  action: AdminAction,
): Promise<void> {
  await batch(context.db, {
    guard: await guardAccess(context, keyId, { role: 'admin' }),
    entry: recordAdminAction(context, id, action),
  }).catch((error: unknown) => {
    throw toAccessError(error) ?? error
  })
}

/** Masks credentials in the arguments of an audit entry. */
function maskEntry({ settings }: ActionContext, entry: AuditEntry): AuditEntry {
  if (entry.arguments === undefined) return entry
  return { ...entry, arguments: maskCredentials(entry.arguments, settings) }
}
