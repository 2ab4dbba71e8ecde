import * as z from 'zod'
import { runFeedbackLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { AppError } from '../../shared/errors'
import { knownFields } from '../../shared/known-fields'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { type IdempotentResult, runOnce, runOrReturnStored } from '../database/run-once'
import { explainBan, guardWriting, type Writing, writingConstraints } from '../rules/writing'
import { accountReader } from '../viewers/reader'
import { activationRequestErrors } from './actions'
import { deleteFeedback, saveFeedback, selectFeedbackTarget } from './feedback-queries'

/** Errors of feedback, as users read them. */
const feedbackErrors = {
  peopleOnly: () => new AppError('FORBIDDEN', 'Only people can rate answers.'),
  notEnded: () =>
    new AppError('CONFLICT', 'The run has not ended.', {
      hint: 'Wait until the run has ended, then rate its answer.',
    }),
}

/** Feedback as people send it. */
export const feedbackInput = knownFields({
  value: z.enum(['up', 'down']).describe('Whether the answer was good.'),
  note: z
    .string()
    .trim()
    .max(runFeedbackLimits.noteCharsMax)
    .default('')
    .describe('Why, for the people who see the run.'),
})

type FeedbackInput = z.output<typeof feedbackInput>

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
      activationId: target.id,
      accountId,
      now,
      value,
      note: input.note,
    })
    const work = { now, answer: { activationId: target.id, feedback: input } }
    if (target.communityId === null) return runOnce(db, once, { ...work, statements: { save } })
    const writing: Writing = {
      accountId,
      activationId,
      communityId: target.communityId,
      now,
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
