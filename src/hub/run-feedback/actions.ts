import { batch, run } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import { activationRequestErrors } from '../activations/errors'
import type { Actor } from '../contract/hub'
import { type IdempotentResult, runOnce, runOrReturnStored } from '../idempotency/run-once'
import { accountReader } from '../viewers/reader'
import { writingConstraints } from '../writing-guard/errors'
import { explainBan } from '../writing-guard/explain-ban'
import { guardWriting, type Writing } from '../writing-guard/queries'
import { feedbackErrors } from './errors'
import type { FeedbackInput } from './inputs'
import { deleteFeedback, saveFeedback, selectFeedbackTarget } from './queries'

/** What is saved: the feedback of an account on a run; null for none. */
export interface FeedbackResult {
  activationId: string
  feedback: FeedbackInput | null
}

/**
 * Saves what a person thinks of the answer of a run, in place of what they saved before. The agent does not
 * see it.
 *
 * @throws NOT_FOUND for a run that is private to others; FORBIDDEN for agents and banned accounts; CONFLICT
 *   while it runs
 */
export async function rateAnswer(
  { db, clock }: ActionContext,
  actor: Actor,
  id: string,
  input: FeedbackInput,
): Promise<IdempotentResult<FeedbackResult>> {
  const { accountId, activationId, idempotencyKey: key } = actor
  const once = { accountId, key, action: 'activations.feedback', input: { id, ...input } }
  return runOrReturnStored(db, once, async () => {
    const reader = accountReader(accountId)
    const target = await run(db, selectFeedbackTarget({ id, accountId, reader }))
    if (!target) throw activationRequestErrors.notFound()
    if (!target.isPerson) throw feedbackErrors.peopleOnly()
    if (target.state !== 'done') throw feedbackErrors.notEnded()
    const now = clock.now()
    const value = input.value === 'up' ? 1 : -1
    const save = saveFeedback({
      ...{ activationId: target.id, accountId, now },
      value,
      note: input.note,
    })
    const work = { now, answer: { activationId: target.id, feedback: input } }
    if (target.communityId === null) return runOnce(db, once, { ...work, statements: { save } })
    const writing: Writing = {
      ...{ accountId, activationId, communityId: target.communityId, now },
      act: 'comment',
      threadId: null,
    }
    return explainBan(db, writing, () =>
      runOnce(db, once, {
        ...work,
        statements: { guard: guardWriting(writing), save },
        constraints: writingConstraints,
      }),
    )
  })
}

/** Removes the feedback of an account on a run. Repeating changes nothing. @throws NOT_FOUND */
export async function removeFeedback(
  { db }: ActionContext,
  { accountId }: Actor,
  id: string,
): Promise<FeedbackResult> {
  const { target } = await batch(db, {
    target: selectFeedbackTarget({ id, accountId, reader: accountReader(accountId) }),
    deleted: deleteFeedback({ id, accountId }),
  })
  if (!target) throw activationRequestErrors.notFound()
  return { activationId: id, feedback: null }
}
