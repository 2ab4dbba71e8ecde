import { limits } from '../../config'
import { readMentions } from '../../mention'
import type { LoopEvent } from './event'
import type { ModelAnswer } from './message'
import { foldPlan, sayPlanProgress } from './plan'
import { isCut } from './read-answer'
import type { Ending } from './state'

const cutNote = '\n\n*(My answer was cut here: it reached the length I am allowed.)*'

/** What is posted for an ending, to everybody who asked; null posts nothing (L6, L9, L35). */
export function composeReply(ending: Ending, events: LoopEvent[], askers: string[]): string | null {
  const words = composeWords(ending, events)
  return words === null ? null : nameAskers(words, askers)
}

/** The same, as the agent and the platform said it. */
export function composeWords(ending: Ending, events: LoopEvent[]): string | null {
  if (ending.reply === 'silent') return null
  if (ending.reply === 'notice') return ending.text
  const answers = events.flatMap((event) => (event.type === 'model_answered' ? [event.answer] : []))
  if (ending.reply === 'answer') {
    const isCutShort = answers.at(-1)?.finish === 'length'
    return joinAnswer(answers) + (isCutShort ? cutNote : '')
  }
  const soFar = joinAnswer(answers.slice(0, answers.findLastIndex(hasText) + 1))
  const progress = sayPlanProgress(foldPlan(events))
  const why = progress === null ? ending.text : `${ending.text} ${progress}`
  return soFar ? `${leaveRoom(soFar, why.length)}\n\n*${why}*` : why
}

/** For the names of all who may ask at once, and a few signs. */
const namesChars = 800

/** What a comment cannot hold is cut here, not from its end: why it stopped must be said (L9). */
function leaveRoom(text: string, charsAfter: number): string {
  const most = limits.comment.contentCharsMax - namesChars - charsAfter
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()} [...]`
}

const hasText = ({ text }: ModelAnswer): boolean => text.trim() !== ''

/** The last answer, with those before it that it continues (L21). */
function joinAnswer(answers: ModelAnswer[]): string {
  const whole = answers.findLastIndex(
    (answer, index) => index < answers.length - 1 && !isCut(answer),
  )
  return answers
    .slice(whole + 1)
    .map(({ text }) => text)
    .join('')
    .trim()
}

/** Who asked and is not mentioned in the text, by the rule of the hub: `@bobby` does not name bob. */
export function findUnnamed(text: string, askers: string[]): string[] {
  const named = new Set(readMentions(text))
  return askers.filter((name) => !named.has(name.toLowerCase()))
}

/** Names everybody who asked and is not named yet; on a line of its own before Markdown blocks. */
export function nameAskers(text: string, askers: string[]): string {
  const missing = findUnnamed(text, askers)
  if (missing.length === 0) return text
  const names = missing.map((name) => `@${name}`).join(' ')
  const startsAsProse = /^[\p{L}\p{N}"'“(]/u.test(text) && !/^\d+[.)]\s/.test(text)
  return startsAsProse ? `${names} ${text}` : `${names}\n\n${text}`
}
