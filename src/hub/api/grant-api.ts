import type { ActionContext } from '../action-context'
import { selectRunning } from '../activations/running-queries'
import { maskArguments } from '../approvals/mask-arguments'
import { selectApprovalsForCall } from '../approvals/queries'
import { insertExternalApproval, markApprovalUsed } from '../approvals/write-queries'
import { insertAuditEntry, updateAuditResult } from '../audit/queries'
import type {
  ApprovalRecord,
  AuditEntry,
  AuthorizationData,
  AuthorizationQuery,
  GrantApi,
  RunningActivation,
} from '../contract/hub'
import type { Db } from '../db'
import { mergeCallPolicy, mergePolicy, readPolicyRow, selectPolicy } from '../grants/queries'
import { createTakeTokensStatements } from '../grants/rate-buckets'
import { readViewer, viewerStatement } from '../keys/queries'
import { maskCredentials } from '../posts/credential-patterns'
import { sha256 } from '../sha256'
import { createConversationApi } from './conversation-api'
import { guardDb } from './guarded-db'

/**
 * Creates the hub's API for the gateway: policy, approvals, callers, rate limits, audit.
 *
 * @param open creates the context of one call, with its own `Db`
 */
export const createGrantApi = (open: () => ActionContext): GrantApi => ({
  readPolicy: async (accountId) => {
    const { results } = await selectPolicy(open().db, accountId).all()
    return mergePolicy(readPolicyRow(results))
  },

  readAuthorization: async (query) => {
    const { db } = open()
    return toAuthorization(await db.d1.batch<unknown>(authorizationStatements(db, query)))
  },

  guardReads: (query, admit) => {
    const guard = {
      statements: (db: Db) => authorizationStatements(db, query),
      admit: async (results: D1Result<unknown>[]) => admit(toAuthorization(results)),
    }
    return createConversationApi(() => {
      const context = open()
      return { ...context, db: guardDb(context.db, guard) }
    })
  },

  requestApproval: async (accountId, unmasked) => {
    const { db, clock, settings } = open()
    const request = maskArguments(unmasked, settings.ROOKERY_KEY_PREFIX)
    const approval = { id: clock.newId(), accountId, request, now: clock.now() }
    await db.d1.batch(insertExternalApproval(db, approval))
  },

  consumeApproval: async (approvalId, accountId, entry, activationId = null) => {
    const context = open()
    const { db } = context
    const id = context.clock.newId()
    const [used] = await db.d1.batch([
      markApprovalUsed(db, approvalId, id),
      insertAuditEntry(db, id, accountId, maskEntry(context, entry), activationId, approvalId),
    ])
    return (used?.meta.changes ?? 0) > 0 ? { id } : null
  },

  takeRateLimit: async (buckets, now) => {
    const { db } = open()
    const [, level, taken] = await db.d1.batch<{ shortMs: number }>(
      createTakeTokensStatements(db, buckets, now),
    )
    const shortMs = Math.ceil(level?.results[0]?.shortMs ?? 0)
    return { isTaken: (taken?.meta.changes ?? 0) > 0, retryMs: Math.max(0, shortMs) }
  },

  findCaller: async (keyHash, now) => {
    const { db, settings } = open()
    const adminKey = settings.ROOKERY_ADMIN_KEY
    const isAdminKey = adminKey !== undefined && (await sha256(adminKey)) === keyHash
    const credential = { hash: keyHash, isSession: false, isAdminKey }
    const viewer = readViewer(await viewerStatement(db, credential, now).all())
    if (!viewer) return null
    const { id, name, kind, scopes } = viewer
    return { id, name, kind, scopes, ...(viewer.role === 'admin' && { isAdmin: true }) }
  },

  findActivation: async (id) => selectRunning(open().db, id).first<RunningActivation>(),

  recordIntent: async (accountId, entry, activationId = null) => {
    const context = open()
    const id = context.clock.newId()
    await insertAuditEntry(context.db, id, accountId, maskEntry(context, entry), activationId).run()
    return { id }
  },

  recordResult: async (id, result) => {
    await updateAuditResult(open().db, id, result).run()
  },
})

/** Masks credentials in the arguments of an audit entry. */
function maskEntry({ settings }: ActionContext, entry: AuditEntry): AuditEntry {
  if (entry.arguments === undefined) return entry
  return { ...entry, arguments: maskCredentials(entry.arguments, settings.ROOKERY_KEY_PREFIX) }
}

const authorizationStatements = (db: Db, query: AuthorizationQuery): D1PreparedStatement[] => [
  selectPolicy(db, query.accountId),
  selectApprovalsForCall(db, query),
]

const toAuthorization = (results: D1Result<unknown>[]): AuthorizationData => ({
  policy: mergeCallPolicy(readPolicyRow(results[0]?.results ?? [])),
  approvals: (results[1]?.results ?? []) as ApprovalRecord[],
})
