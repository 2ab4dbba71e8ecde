import * as z from 'zod'
import { approvals, standingRules } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import type { Statement } from '../../shared/db/statement'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId, CommunityId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import type { KeyPrefixes } from '../../shared/settings'
import { toArgumentRules } from '../contract/calls'
import type { Actor, ApprovalReason, ArgumentRule } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { recordIfChanged } from '../database/admin-log-queries'
import { toConstraintError } from '../database/constraint-errors'
import { type IdempotentResult, runActionOnce } from '../database/run-once'
import { armSweep, wakeAgents } from '../inbox/wake'
import { findWholeCredentials } from '../rules/credential-patterns'
import { guardActor } from '../viewers/queries'
import { actorReader } from '../viewers/reader'
import {
  type ApprovalRow,
  guardRuleCount,
  insertRule,
  type RuleRow,
  type RuleScope,
  revokeRule,
  selectApproval,
  selectApprovalsById,
  selectRule,
  selectRuleScope,
} from './queries'
import { type ApprovalUpdate, decideApproval, decisionStatements } from './write-queries'

const hint = 'Reload the list of approvals.'

const conflict = (message: string): AppError => new AppError('CONFLICT', message, { hint })

/** Errors of approvals, as users read them. */
export const approvalErrors = {
  notFound: () => notFound('approval'),
  signInRequired: () => new AppError('UNAUTHORIZED', 'Sign in to see approvals.'),
  invalidDecision: () =>
    new AppError('VALIDATION', 'The decision is missing or unknown.', {
      hint: 'Choose Approve once, Approve this tool for the run, or Deny.',
    }),
  onceOnly: () =>
    conflict(
      'An external call can be approved only once, because its caller repeats exactly this call.',
    ),
  expired: () => conflict('This approval has expired.'),
  cancelled: () => conflict('This approval is no longer needed, because the run was cancelled.'),
  alreadyApproved: (by: string | null) =>
    conflict(`This call was already approved by ${by ?? 'another admin'}.`),
  alreadyDenied: (by: string | null) =>
    conflict(`This call was already denied by ${by ?? 'another admin'}.`),
}

const conflicts: Record<ApprovalRow['status'], (by: string | null) => AppError> = {
  pending: approvalErrors.expired,
  expired: approvalErrors.expired,
  cancelled: approvalErrors.cancelled,
  approved: approvalErrors.alreadyApproved,
  denied: approvalErrors.alreadyDenied,
}

/** Returns the error for an approval that is no longer pending, whose time has passed, or that has no run. */
const toRefusal = (
  row: ApprovalRow,
  { scope, now }: Pick<ApprovalUpdate, 'scope' | 'now'>,
): AppError => {
  const isOpen = row.status === 'pending' && row.expiresAt > now
  return isOpen && scope === 'activation'
    ? approvalErrors.onceOnly()
    : conflicts[row.status](row.decidedBy?.name ?? null)
}

const approveOnce = 'Approve this call once instead.'

const refuse = (message: string, hint = approveOnce): AppError =>
  new AppError('VALIDATION', message, { hint })

/** Errors of standing rules, as those who approve read them. */
export const ruleErrors = {
  notFound: () => notFound('standing rule'),
  personOnly: () =>
    new AppError('FORBIDDEN', 'Only a person can create a standing rule.', { hint: approveOnce }),
  adminOnly: () => new AppError('FORBIDDEN', 'Only admins can view standing rules.'),
  onlyWithApproval: () =>
    refuse(
      'A standing rule can only be created with the decision "approve".',
      'Leave standing_rule out, or approve the call.',
    ),
  unknownTool: (tool: string) => refuse(`${tool} is no longer a tool of this hub.`),
  secretArguments: () =>
    refuse('A standing rule cannot contain a secret, and an argument of this call does.'),
  longArguments: () => refuse('The arguments of this call are too long for a standing rule.'),
  unmatchable: () =>
    refuse(
      'These prefixes do not describe this call.',
      'A prefix is at least 3 characters of the text of that argument, ends with a space, "/", ":", "#" or ",", and contains the whole origin of a URL.',
    ),
  manyRequesters: () =>
    refuse(
      'This call was not requested by one account alone.',
      'Let the rule hold for any requester, or approve this call once.',
    ),
  tooMany: (agent: string) =>
    new AppError('CONFLICT', `${agent} has too many standing rules.`, {
      hint: 'Revoke some of them on the policy page.',
    }),
}

/** What a new standing rule covers besides the very call that it is made from. */
export const ruleInput = knownFields({
  prefixes: z
    .record(z.string().max(200), z.string().max(2_000))
    .default({})
    .describe(
      'By name of a text argument, the beginning that is enough. Every other argument has to be as in this call, and there must be no further one.',
    ),
  any_community: z
    .boolean()
    .default(false)
    .describe('Not only in the community of the thread of this call, or outside of communities.'),
  any_requester: z.boolean().default(false).describe('Not only when the same account requests.'),
  days: z.number().int().min(1).max(standingRules.daysMax).default(standingRules.daysDefault),
})

export type RuleInput = z.output<typeof ruleInput>

const note = z
  .string()
  .trim()
  .max(approvals.noteCharsMax)
  .default('')
  .describe('Shown to the agent')

/** A decision about a call that requires approval. */
export const decisionBody = knownFields({
  decision: z
    .enum(['approve', 'approve_activation', 'deny'])
    .describe(
      'approve_activation also approves other calls of the same tool and grant in the activation, whatever their arguments; an external call can only be approved once',
    ),
  note,
  standing_rule: ruleInput
    .optional()
    .describe('With approve: also creates a standing rule for such calls.'),
})

/** One decision about several calls: those of one step, or any others. */
export const decisionsBody = knownFields({
  ids: z.array(z.string().max(200)).min(1).max(approvals.decisionsMax),
  decision: z.enum(['approve', 'deny']),
  note,
})

/** Status of an approval. */
export const statusLabels = {
  pending: 'pending',
  approved: 'approved',
  denied: 'denied',
  expired: 'expired',
  cancelled: 'cancelled',
} as const

/** Why a call requires approval, as people read it. */
export function formatReason(reason: ApprovalReason): string {
  if (reason.kind === 'policy') return `The policy requires approval for ${reason.entry}.`
  return reason.kind === 'community'
    ? `The call leaves m/${reason.community}, which not everybody reads.`
    : 'The run has read text by guests or from outside, which could have asked for this call.'
}

/** First lines of the page: nothing pending, pending for a requester, pending for an admin. */
export const leadTexts = {
  nothingPending: 'No approvals are pending.',
  requester:
    'Calls for your requests wait here for an admin. Until an admin decides, the agent works on other tasks.',
  approver:
    'Each call is shown exactly as it would run. Keys and tokens are masked: select a mask to see the value. Until you decide, the agent works on other tasks.',
} as const

/** What a rule covers: what is shown before it is made, and what is stored. */
export interface ComposedRule {
  arguments: ArgumentRule[]
  /** Null: outside of communities, unless it holds anywhere. */
  community: RuleScope['community']
  isAnywhere: boolean
  /** Null: whoever requests. */
  requester: RuleScope['requesters'][number] | null
  endsAt: number
}

const dayMs = 86_400_000

/**
 * Returns the rule for a call: the call itself unless `input` says more.
 *
 * @param raw the arguments of the call as JSON
 * @throws VALIDATION for arguments that no rule can describe, and for a call without a single requester
 */
function composeRule(
  raw: string,
  scope: Pick<RuleScope, 'community' | 'requesters'>,
  input: RuleInput,
  { now, keys }: { now: number; keys: KeyPrefixes },
): ComposedRule {
  if (raw.length > standingRules.argumentsCharsMax) throw ruleErrors.longArguments()
  const args = parse(raw)
  if (hasSecret(args, keys)) throw ruleErrors.secretArguments()
  const rules = toArgumentRules(args, input.prefixes)
  if (!rules) throw ruleErrors.unmatchable()
  const { community, requesters } = scope
  const [requester, ...others] = requesters
  if (!input.any_requester && (!requester || others.length > 0)) throw ruleErrors.manyRequesters()
  return {
    arguments: rules,
    isAnywhere: input.any_community,
    community: input.any_community ? null : community,
    requester: input.any_requester ? null : (requester ?? null),
    endsAt: now + input.days * dayMs,
  }
}

function parse(raw: string): unknown {
  try {
    return raw.trim() === '' ? {} : JSON.parse(raw)
  } catch {
    return undefined
  }
}

function hasSecret(value: unknown, keys: KeyPrefixes): boolean {
  if (typeof value === 'string') return findWholeCredentials(value, keys).length > 0
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([name, each]) => hasSecret(name, keys) || hasSecret(each, keys),
  )
}

/** Whether a rule holds, or why not. */
export type RuleState = 'active' | 'expired' | 'revoked' | 'creator' | 'tool_changed'

/** Rules with their states, in the order of the rows. */
export type RuleStates = { row: RuleRow; state: RuleState }[]

/** Returns the state of each rule, with the tools as they are now. */
export async function readRuleStates(
  { clock, tools }: Pick<ActionContext, 'clock' | 'tools'>,
  rows: RuleRow[],
): Promise<RuleStates> {
  const now = clock.now()
  const [first] = rows
  if (first)
    await tools.refresh(first.toolsVersion === null ? {} : { toolsVersion: first.toolsVersion })
  return Promise.all(
    rows.map(async (row) => ({
      row,
      state: findState(row, await tools.hashTool(row.tool), now),
    })),
  )
}

function findState(row: RuleRow, toolHash: string | null, now: number): RuleState {
  if (row.ended !== null) return row.ended
  if (row.endsAt <= now) return 'expired'
  if (row.canStillApprove !== 1) return 'creator'
  return row.toolHash === toolHash ? 'active' : 'tool_changed'
}

/** The rule that an approval would create, for the definition of its tool as it is now. */
export interface PreparedRule extends ComposedRule {
  agentName: string
  tool: string
  grant: string
  toolHash: string
}

/**
 * Returns the rule that approving a pending call would create. Writes nothing.
 *
 * @throws NOT_FOUND; CONFLICT for a call that is not pending; VALIDATION and FORBIDDEN for a rule that
 *   cannot be created
 */
export async function prepareRule(
  context: ActionContext,
  { accountId, kind }: Pick<Actor, 'accountId' | 'kind'>,
  id: string,
  input: RuleInput,
): Promise<PreparedRule> {
  if (kind !== 'human') throw ruleErrors.personOnly()
  const { row, scope } = await batch(context.db, {
    row: selectApproval({ id, reader: actorReader({ accountId, activationId: null }) }),
    scope: selectRuleScope({ approvalId: id }),
  })
  if (!row || !scope) throw approvalErrors.notFound()
  return previewRule(context, row, scope, input)
}

/** The same for an approval that has been read already. */
export async function previewRule(
  { clock, settings, tools }: Pick<ActionContext, 'clock' | 'settings' | 'tools'>,
  row: ApprovalRow,
  scope: RuleScope,
  input: RuleInput,
): Promise<PreparedRule> {
  const now = clock.now()
  if (row.status !== 'pending' || row.expiresAt <= now) throw toRefusal(row, { scope: 'once', now })
  if (scope.rulesOfAgent >= standingRules.perAgentMax) throw ruleErrors.tooMany(scope.agentName)
  const { agentName, toolsVersion } = scope
  await tools.refresh(toolsVersion === null ? {} : { toolsVersion })
  const toolHash = await tools.hashTool(row.tool)
  if (toolHash === null) throw ruleErrors.unknownTool(row.tool)
  const composed = composeRule(row.arguments, scope, input, { now, keys: settings })
  return { ...composed, agentName, tool: row.tool, grant: row.grant, toolHash }
}

/** Returns the writes of a rule. They follow the decision in its batch. */
function ruleStatements(
  context: ActionContext,
  { id: approvalId, by, now }: ApprovalUpdate,
  rule: PreparedRule,
): Statement<void>[] {
  const id = context.clock.newId<string>()
  const { community, isAnywhere, requester, endsAt, toolHash, agentName, tool, grant } = rule
  return [
    guardRuleCount(approvalId),
    insertRule(
      {
        id,
        arguments: rule.arguments,
        toolHash,
        communityId: (community?.id as CommunityId | undefined) ?? null,
        isAnywhere,
        requesterId: (requester?.id as AccountId | undefined) ?? null,
        createdBy: by,
        createdAt: now,
        endsAt,
      },
      approvalId,
    ),
    recordIfChanged(context, by, {
      action: 'standing_rule.create',
      targetType: 'standing_rule',
      targetId: id,
      after: {
        agent: agentName,
        tool,
        grant,
        // What the arguments say can be the text of a user.
        arguments: rule.arguments.map(({ name, kind }) => `${name}: ${kind}`),
        community: community?.name ?? null,
        requester: requester?.name ?? null,
        ends_at: new Date(endsAt).toISOString(),
      },
    }),
  ]
}

/** A decision as a person submits it. */
interface Decision {
  decision: 'approve' | 'approve_activation' | 'deny'
  note: string
  /** With `approve`: the rule to create for such calls. */
  standing_rule?: RuleInput | undefined
}

/** A decided approval, and what the rule covers that was created with it. */
interface DecidedApproval {
  row: ApprovalRow
  rule: PreparedRule | null
}

/**
 * Approves or denies a pending call. The decision, the rule created with it and the inbox item that resumes
 * the agent are one batch, so none exists without the others; then the agent is woken. Idempotent for the
 * same decision.
 *
 * @throws NOT_FOUND, CONFLICT when the call was decided differently, expired or cancelled; VALIDATION and
 *   FORBIDDEN for a rule that cannot be created
 */
export async function submitDecision(
  context: ActionContext,
  actor: Actor,
  id: string,
  decision: Decision,
): Promise<IdempotentResult<DecidedApproval>> {
  const { db, clock } = context
  const { accountId, idempotencyKey: key } = actor
  const { standing_rule: wanted, ...plain } = decision
  // Without a rule as before there were any, so that a repeat finds its answer.
  const input = [id, wanted ? decision : plain]
  const once = { accountId, key, action: 'approvals.decide', input }
  return runActionOnce(db, once, clock.now(), async () => {
    if (wanted && decision.decision !== 'approve') throw ruleErrors.onlyWithApproval()
    const rule = wanted ? await prepareRule(context, actor, id, wanted) : null
    const verdict = toVerdict(decision, { id, by: accountId, now: clock.now() })
    return { row: await saveDecision(context, actor, verdict, rule), rule }
  })
}

const toVerdict = (
  { decision, note }: Pick<Decision, 'decision' | 'note'>,
  of: Pick<ApprovalUpdate, 'id' | 'by' | 'now'>,
): ApprovalUpdate => ({
  ...of,
  status: decision === 'deny' ? 'denied' : 'approved',
  scope: decision === 'approve_activation' ? 'activation' : 'once',
  note,
})

const decisionWrites = (context: ActionContext, verdict: ApprovalUpdate) => ({
  isDecided: decideApproval(verdict),
  entry: recordIfChanged(context, verdict.by, {
    action: verdict.status === 'denied' ? 'approval.deny' : 'approval.approve',
    targetType: 'approval',
    targetId: verdict.id,
    after: { scope: verdict.scope },
  }),
})

async function saveDecision(
  context: ActionContext,
  actor: Actor,
  verdict: ApprovalUpdate,
  rule: PreparedRule | null,
): Promise<ApprovalRow> {
  const token = await armSweep(context)
  const { isDecided, row } = await batch(context.db, {
    guard: await guardActor(context, actor, { role: 'admin' }),
    ...decisionWrites(context, verdict),
    rule: rule ? ruleStatements(context, verdict, rule) : [],
    following: decisionStatements([verdict.id], verdict.now),
    row: selectApproval({
      id: verdict.id,
      reader: actorReader({ accountId: verdict.by, activationId: null }),
    }),
  }).catch((error: unknown) => {
    const tooMany = () => ruleErrors.tooMany(rule?.agentName ?? '')
    throw toConstraintError(error, { access_rules: tooMany }) ?? error
  })
  const woken = row && isOfRun(row) ? [{ accountId: row.agentId }] : []
  context.defer(wakeAgents(context, woken, token))
  if (!row) throw approvalErrors.notFound()
  if (!isDecided && !isSame(row, verdict)) throw toRefusal(row, verdict)
  return row
}

/**
 * Approves or denies several pending calls in one batch. Those that are not pending any more keep their
 * decision.
 *
 * @returns the approvals as they are now, in the order given
 * @throws NOT_FOUND when an id is unknown; CONFLICT when none of them was pending
 */
export async function submitDecisions(
  context: ActionContext,
  actor: Actor,
  ids: string[],
  decision: Pick<Decision, 'decision' | 'note'>,
): Promise<IdempotentResult<ApprovalRow[]>> {
  const { db, clock } = context
  const { accountId, idempotencyKey: key } = actor
  const input = [ids, decision]
  const once = { accountId, key, action: 'approvals.decide_all', input }
  return runActionOnce(db, once, clock.now(), () => {
    const of = { by: accountId, now: clock.now() }
    const verdicts = [...new Set(ids)].map((id) => toVerdict(decision, { ...of, id }))
    return saveDecisions(context, actor, verdicts)
  })
}

async function saveDecisions(
  context: ActionContext,
  actor: Actor,
  verdicts: ApprovalUpdate[],
): Promise<ApprovalRow[]> {
  const [first] = verdicts
  if (!first) return []
  const ids = verdicts.map(({ id }) => id)
  const token = await armSweep(context)
  const writes = Object.fromEntries(
    verdicts.flatMap((verdict, index) => {
      const { isDecided, entry } = decisionWrites(context, verdict)
      return [
        [`decided ${index}`, isDecided],
        [`entry ${index}`, entry],
      ]
    }),
  )
  const { rows } = await batch(context.db, {
    guard: await guardActor(context, actor, { role: 'admin' }),
    ...writes,
    following: decisionStatements(ids, first.now),
    rows: selectApprovalsById(ids, actorReader({ accountId: first.by, activationId: null })),
  })
  const agents = new Set(rows.flatMap((row) => (isOfRun(row) ? [row.agentId] : [])))
  context.defer(
    wakeAgents(
      context,
      [...agents].map((accountId) => ({ accountId })),
      token,
    ),
  )
  const found = verdicts.map((verdict) => ({
    verdict,
    row: rows.find(({ id }) => id === verdict.id),
  }))
  const sorted = found.flatMap(({ row }) => (row ? [row] : []))
  const [one] = sorted
  if (!one || sorted.length < verdicts.length) throw approvalErrors.notFound()
  if (!found.some(({ row, verdict }) => row && isSame(row, verdict))) throw toRefusal(one, first)
  return sorted
}

/** Whether a parked run, or a program, waits for the decision. */
const isOfRun = ({ activationId, runId }: ApprovalRow): boolean =>
  activationId !== null || runId !== null

const isSame = (row: ApprovalRow, { status, scope, by, note }: ApprovalUpdate): boolean =>
  row.status === status && row.scope === scope && row.decidedBy?.id === by && row.note === note

/**
 * Revokes a standing rule: from the next call on it covers nothing. Revoking a rule that has ended is
 * harmless.
 *
 * @throws NOT_FOUND
 */
export async function endRule(
  context: ActionContext,
  { accountId }: Pick<Actor, 'accountId'>,
  id: string,
): Promise<RuleStates[number]> {
  const { row } = await batch(context.db, {
    isRevoked: revokeRule(id),
    entry: recordIfChanged(context, accountId, {
      action: 'standing_rule.revoke',
      targetType: 'standing_rule',
      targetId: id,
    }),
    row: selectRule({
      id,
      now: context.clock.now(),
      reader: actorReader({ accountId, activationId: null }),
    }),
  })
  const [found] = await readRuleStates(context, row ? [row] : [])
  if (!found) throw ruleErrors.notFound()
  return found
}
