import { limits } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import { addMentions } from '../../shared/markdown/add-mentions'
import { isTruncated } from './answer-end'
import type { LoopEvent } from './event'
import type { ModelAnswer } from './message'
import { describeChanges } from './program-changes'
import type { StoredReport } from './program-event'
import type { Ending } from './state'

const truncatedNote = '\n\n*(Truncated: my answer reached its length limit.)*'

/**
 * Returns the text to post for an ending, with a mention of every requester; null posts nothing.
 *
 * @param progress how much of its plan the run has done, as a sentence
 */
export function composeReply(
  ending: Ending,
  events: LoopEvent[],
  requesters: string[],
  progress: string | null = null,
): string | null {
  const text = composeReplyText(ending, events, progress)
  return text === null ? null : addMentions(text, requesters)
}

/** Returns the text to post without mentions of requesters; null posts nothing. */
export function composeReplyText(
  ending: Ending,
  events: LoopEvent[],
  progress: string | null,
): string | null {
  if (ending.reply === 'silent') return null
  if (ending.reply === 'notice') return ending.text
  const reason = progress === null ? ending.text : `${ending.text} ${progress}`
  if (hasProgram(events)) {
    const said = findProgramAnswer(events)
    const changes = describeChanges(events)
    const text = ending.reply === 'answer' ? said : joinReason(said, reason)
    return changes === null ? text : `${truncateToFit(text, changes.length)}\n\n${changes}`
  }
  const answers = events.flatMap((event) => (event.type === 'model_answered' ? [event.answer] : []))
  if (ending.reply === 'answer') {
    const hasReachedLimit = answers.at(-1)?.finish === 'length'
    return joinAnswer(answers) + (hasReachedLimit ? truncatedNote : '')
  }
  const soFar = joinAnswer(answers.slice(0, answers.findLastIndex(hasText) + 1))
  return joinReason(soFar, reason)
}

/** Returns a partial answer with the reason why it is not whole. */
const joinReason = (soFar: string, reason: string): string =>
  soFar ? `${truncateToFit(soFar, reason.length)}\n\n*${reason}*` : reason

const hasProgram = (events: LoopEvent[]): boolean =>
  events.some((event) => event.type === 'loaded' && event.facts.program !== undefined)

/** Returns the answer of a program's last turn; when it has none, what it wrote after its last tool call. */
function findProgramAnswer(events: LoopEvent[]): string {
  const reports = events.flatMap((event) =>
    event.type === 'program_reported' ? event.reports : [],
  )
  const text = reports.reduce((before, report) => foldText(before, report), '')
  return text.trim()
}

function foldText(before: string, report: StoredReport): string {
  if (report.kind === 'text') return before + report.text
  if (report.kind === 'ended') return report.answer.trim() === '' ? before : report.answer
  const isNew = report.kind === 'started' || (report.kind === 'tool' && report.status === 'running')
  return isNew ? '' : before
}

/** Characters kept free for the names of all requesters and punctuation. */
const namesChars = 800

/**
 * Truncates a text that a comment cannot hold, so that the reason for stopping still fits after it.
 */
function truncateToFit(text: string, charsAfter: number): string {
  const max = limits.comment.contentCharsMax - namesChars - charsAfter
  return text.length <= max ? text : `${cutText(text, max)} [...]`
}

const hasText = ({ text }: ModelAnswer): boolean => text.trim() !== ''

/** Returns the last answer, with the truncated answers before it that it continues. */
function joinAnswer(answers: ModelAnswer[]): string {
  const whole = answers.findLastIndex(
    (answer, index) => index < answers.length - 1 && !isTruncated(answer),
  )
  return answers
    .slice(whole + 1)
    .map(({ text }) => text)
    .join('')
    .trim()
}
