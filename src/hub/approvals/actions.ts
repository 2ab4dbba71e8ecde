import { batch } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import { recordIfChanged } from '../admin-log/compose-entry'
import { toConstraintError } from '../constraint-errors'
import type { Actor } from '../contract/hub'
import { type IdempotentResult, runActionOnce } from '../idempotency/run-once'
import { armSweep, wakeAgents } from '../inbox/deliver'
import { ruleErrors } from '../standing-rules/errors'
import type { RuleInput } from '../standing-rules/inputs'
import { guardActor } from '../viewers/guard-access-queries'
import { actorReader } from '../viewers/reader'
import { approvalErrors } from './errors'
import { type PreparedRule, prepareRule, ruleStatements } from './prepare-rule'
import { type ApprovalRow, selectApproval, selectApprovalsById } from './queries'
import { toRefusal } from './to-refusal'
import { type ApprovalUpdate, decideApproval, decisionStatements } from './write-queries'

/** A decision as a person submits it. */
export interface Decision {
  decision: 'approve' | 'approve_activation' | 'deny'
  note: string
  /** With `approve`: the rule to create for such calls. */
  standing_rule?: RuleInput | undefined
}

/** A decided approval, and what the rule covers that was created with it. */
export interface DecidedApproval {
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
    row: selectApproval(verdict.id, actorReader({ accountId: verdict.by, activationId: null })),
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
  row.status === status && row.scope === scope && row.decidedById === by && row.note === note
