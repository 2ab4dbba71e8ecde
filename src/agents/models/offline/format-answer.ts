import { cutText } from '../../../shared/cut-text'
import type { Question } from './parse-task'
import type { ScoredCandidate } from './score-candidates'

const excerptCharsMax = 420
const titleCharsMax = 100

/** Writes the answer to one question: the best passage as a quotation with its source, and perhaps a second link. */
export function formatFinding(found: ScoredCandidate[]): string {
  const [best, second] = found
  if (!best) {
    return 'I searched the hub and nothing fits that question. Try other words, a name, or the words you would expect in the answer.'
  }
  const lines = [
    `${describeSource(best)}:`,
    '',
    `> ${toPlain(truncateAt(best.passage.text, excerptCharsMax))}`,
  ]
  if (best.missingWords.length > 0) lines.push('', describeMissing(best.missingWords))
  if (second && second.score > best.score - 0.25) {
    lines.push('', `See also ${linkTo(second)}${describePlace(second)}.`)
  }
  return lines.join('\n')
}

/** Returns the authors and a quotation of a question, to refer to it among several. */
export function formatQuestion({ authors, quote }: Question): string {
  const names = toPlain(authors.filter(Boolean).join(' and '))
  const quoted = toPlain(quote) ? `“${toPlain(quote)}”` : ''
  return [names, quoted].filter(Boolean).join(', ')
}

export const noSearchTermsText =
  'I found no word in that to search for. Name the subject, and mention me again.'

/** Lists the questions beyond the limit of one answer. */
export function formatSkippedQuestions(questions: Question[], questionsMax: number): string {
  const list = questions.map((question) => `- ${formatQuestion(question)}`)
  const lead = `I look up ${questionsMax} questions at a time, so I have not looked up these. Please ask me again:`
  return [lead, '', ...list].join('\n')
}

function describeSource(found: ScoredCandidate): string {
  const { commentAuthor } = found.passage
  if (commentAuthor === null) return `${linkTo(found)}${describePlace(found)} says`
  return `${toPlain(commentAuthor) || 'A user'} says in a comment on ${linkTo(found)}${describePlace(found)}`
}

/** Names up to three words of the question that the source does not contain. */
function describeMissing(words: string[]): string {
  const list = words.slice(0, 3).map((word) => `“${word}”`)
  return `That is the closest I found; it does not mention ${list.join(' or ')}.`
}

function linkTo({ candidate }: ScoredCandidate): string {
  const title =
    toPlain(truncateAt(candidate.title.trim(), titleCharsMax)) || 'a post without a title'
  return `[${title}](/p/${encodeURIComponent(candidate.postId)})`
}

function describePlace({ candidate }: ScoredCandidate): string {
  const by = candidate.author ? ` by ${toPlain(candidate.author)}` : ''
  const where = candidate.community ? ` in m/${toPlain(candidate.community)}` : ''
  return by + where
}

/** Converts quoted text to one line without active markup. */
function toPlain(text: string): string {
  return text
    .replace(/^[^\S\n\r\u2028\u2029]*#{1,6}\s/gm, '')
    .replace(/[*`|]+/g, '')
    .replace(/[[\]<>\\]/g, '\\$&')
    .replace(/\s+/g, ' ')
    .trim()
}

/** Truncates between words. Must run before escaping, so that no escape is split. */
function truncateAt(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const start = cutText(text, charsMax)
  const space = start.lastIndexOf(' ')
  return `${space > charsMax / 2 ? start.slice(0, space) : start}…`
}

/** Returns the agent's introduction from the first sentence of its prompt: "You are Scout, ..." */
function introduce(introduction: string): string {
  const prose = introduction.trim().replace(/\s+/g, ' ')
  const sentence = /^You are ([^.!]{1,160})/.exec(prose)?.[1]
  // A mention of its own name would wake the agent again.
  return sentence ? `I am ${sentence.replace(/ \(@[\w-]+\)|@/g, '').trim()}. ` : ''
}

/** Writes the answer to a message without a question: what the agent can do. */
export function formatGreeting(introduction: string, canSearch: boolean): string {
  const ability = canSearch
    ? 'Ask me about anything that was discussed here. I search the hub and answer with the best passage and a link to it.'
    : 'I cannot search this hub: no search tool is granted to me.'
  return `${introduce(introduction)}${ability}`
}

export const noSearchToolText =
  'I cannot look that up: no search tool is granted to me. With the grant `hub:read` I can search the hub.'

/** Writes the answer after a failed search. The reason is in a code span, as it may quote others. */
export function formatSearchFailure(reason: string): string {
  const short = reason
    .replace(/^Error:\s*/, '')
    .replace(/[`\s]+/g, ' ')
    .trim()
  return `I could not search the hub, so I cannot answer this. The search returned: \`${short.slice(0, 200) || 'no readable text'}\``
}
