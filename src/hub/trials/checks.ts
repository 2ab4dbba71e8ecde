import { replayLimits } from '../../shared/config'
import type { Outcome } from '../../shared/errors'
import { foldText } from '../../shared/fold-text'
import { formatCount, formatMoney, formatPlural } from '../../shared/format'
import { findPlaces, matchesGlob } from '../../shared/glob'
import type { CaseCheck, CheckResult } from '../contract/hub'

/** What a lane, or the run itself, did, as checks look at it. */
export interface CheckedLane {
  /** Null: it did not end. */
  outcome: Outcome | null
  answer: string
  /** Model calls. */
  steps: number
  costMicrousd: number
  calls: { tool: string }[]
}

/** Returns what each check finds of a lane, in the order of the checks. It never throws, and takes a time that is linear in the answer. */
export function runChecks(checks: CaseCheck[], lane: CheckedLane): CheckResult[] {
  const whole = { ...lane, answer: lane.answer.slice(0, replayLimits.answerCharsMax) }
  const answer = foldText(whole.answer)
  return checks.map((check) => {
    const detail = findFault(check, whole, answer)
    return { passed: detail === null, detail: detail ?? '' }
  })
}

/** Returns why a check did not pass; null when it did. @param answer folded */
function findFault(check: CaseCheck, lane: CheckedLane, answer: string): string | null {
  switch (check.type) {
    case 'calls':
      return callsTool(lane, check.value) ? null : `${check.value} was not called.`
    case 'calls_not':
      return callsTool(lane, check.value) ? `${check.value} was called.` : null
    case 'steps_max':
      return lane.steps <= check.value
        ? null
        : `It took ${formatPlural(lane.steps, 'model call', 'model calls')}, more than ${formatCount(check.value)}.`
    case 'cost_max':
      return lane.costMicrousd <= check.value
        ? null
        : `It cost ${formatMoney(lane.costMicrousd, 'trace')}, more than ${formatMoney(check.value, 'trace')}.`
    case 'refuses':
      return check.value ? findAct(lane) : findRefusal(lane)
    default:
      return findFaultOfText(check, lane.answer, answer)
  }
}

type TextCheck = Exclude<
  CaseCheck,
  { type: 'calls' | 'calls_not' | 'steps_max' | 'cost_max' | 'refuses' }
>

/** The same of a check of what the answer says. */
function findFaultOfText(check: TextCheck, whole: string, answer: string): string | null {
  switch (check.type) {
    case 'contains':
      return containsText(answer, foldText(check.value))
        ? null
        : `The answer does not contain “${check.value}”.`
    case 'contains_not':
      return containsText(answer, foldText(check.value))
        ? `The answer contains “${check.value}”.`
        : null
    case 'matches':
      return matchesGlob(`*${foldText(check.value)}*`, answer)
        ? null
        : `The answer does not match “${check.value}”.`
    case 'cites':
      return citesId(answer, check.value) ? null : `The answer does not link to ${check.value}.`
    case 'words_max':
      return hasMoreWords(whole, check.value)
        ? `The answer has more than ${formatPlural(check.value, 'word', 'words')}.`
        : null
    default:
      return 'This kind of check is not known.'
  }
}

/** Finds a part in linear time. */
const containsText = (text: string, part: string): boolean =>
  part === '' || findPlaces(part, text).next().done !== true

let words: Intl.Segmenter | undefined

/** Where links lead. A place ends at the next bracket, so that it takes linear time. */
const linkTargets = /\]\([^()\s]*\)/g

/**
 * Whether a text has more words than so many, without where its links lead. Words end where they do in the script of the
 * text (Unicode Standard Annex 29, and dictionaries for scripts without spaces); marks and emoji are none. Counting ends
 * at the first word too many.
 */
function hasMoreWords(text: string, max: number): boolean {
  words ??= new Intl.Segmenter('en', { granularity: 'word' })
  let count = 0
  for (const { isWordLike } of words.segment(text.replace(linkTargets, ']'))) {
    if (isWordLike && ++count > max) return true
  }
  return false
}

/** Whether the id stands in the answer, in a link or by itself, and not as a part of another one. */
function citesId(answer: string, id: string): boolean {
  const wanted = foldText(id)
  const isPart = (character: string | undefined) =>
    character !== undefined && /^[\p{L}\p{N}]$/u.test(character)
  if (wanted === '') return false
  for (const at of findPlaces(wanted, answer)) {
    if (!isPart(answer[at - 1]) && !isPart(answer[at + wanted.length])) return true
  }
  return false
}

/** Tools are shown with a dot behind the server and called with an underscore. */
const toCalled = (tool: string): string => tool.trim().replace('.', '_').toLowerCase()

const callsTool = ({ calls }: CheckedLane, tool: string): boolean =>
  calls.some((call) => toCalled(call.tool) === toCalled(tool))

const isFiltered = ({ outcome }: CheckedLane): boolean => outcome === 'content_filtered'

const hasAnswer = ({ outcome, answer }: CheckedLane): boolean =>
  outcome === 'completed' && foldText(answer) !== ''

/**
 * Why a run did not refuse; null when it did: its provider ended it for what it was asked for, or it answered in words
 * without calling a tool. That an answer declines cannot be seen from its words in every language, so that an answer which
 * does in words what it was asked for passes too: add a check of what your agent says when it declines. One that looks for
 * something first and then declines does not pass.
 */
function findAct(lane: CheckedLane): string | null {
  if (isFiltered(lane)) return null
  if (!hasAnswer(lane)) return 'It did not end with an answer.'
  const [first] = lane.calls
  return first ? `It called ${first.tool}.` : null
}

/** Why a run is taken for one that refused; null when it ended with an answer. */
const findRefusal = (lane: CheckedLane): string | null => {
  if (isFiltered(lane)) return 'The model’s provider declined.'
  return hasAnswer(lane) ? null : 'It did not end with an answer.'
}
