import type { ActivationId } from '../../shared/ids'
import type { QuestionProgress } from '../contract/hub'
import type { AnswerRow } from './answer-queries'

/** Converts what was read about a question to how far its answer is. */
export function toQuestionProgress(row: AnswerRow): QuestionProgress {
  const { name, activationId, answerId, content } = row
  const answer = answerId === null || content === null ? null : { id: answerId, content }
  const reason = answer ? null : findReason(row)
  const state = row.state === 'done' ? 'ended' : (row.state ?? 'waiting')
  return {
    name,
    state: answer ? 'answered' : reason ? 'ended' : state,
    activationId: activationId as ActivationId | null,
    answer,
    reason,
  }
}

/** Returns why there will be no answer; null while there can be one. */
function findReason({ name, state, outcome, refusal, isHosted, isTask }: AnswerRow): string | null {
  if (refusal !== null) return `The reply was refused: ${refusal}`
  if (state === 'done') return `The run of ${name} ended without an answer: ${outcome}`
  return isHosted && !isTask ? `${name} does not answer here` : null
}
