import type { Judged } from './judge'
import type { Question } from './read-task'

const excerptCharsMax = 420
const titleCharsMax = 100

/** One question's answer: the best passage as a quotation with its source, and perhaps a second. */
export function writeFinding(found: Judged[]): string {
  const [best, second] = found
  if (!best) {
    return 'I searched the hub and nothing fits that question. Try other words, a name, or the words you would expect in the answer.'
  }
  const lines = [
    `${describeSource(best)}:`,
    '',
    `> ${toPlain(cutAt(best.passage.text, excerptCharsMax))}`,
  ]
  if (best.missing.length > 0) lines.push('', describeMissing(best.missing))
  if (second && second.score > best.score - 0.25) {
    lines.push('', `See also ${linkTo(second)}${describePlace(second)}.`)
  }
  return lines.join('\n')
}

/** Names a question among several and who asked it. */
export function nameQuestion({ authors, quote }: Question): string {
  const who = toPlain(authors.filter(Boolean).join(' and '))
  const what = toPlain(quote) ? `“${toPlain(quote)}”` : ''
  return [who, what].filter(Boolean).join(', ')
}

export const noWords = 'I found no word in that to search for. Tell me what it is about.'

/** Those beyond what one answer can hold: nobody is left without a word. */
export function writeNotLookedUp(questions: Question[], questionsMax: number): string {
  const list = questions.map((question) => `- ${nameQuestion(question)}`)
  const lead = `I look up ${questionsMax} questions at a time, so I have not looked up these. Please ask me again:`
  return [lead, '', ...list].join('\n')
}

function describeSource(found: Judged): string {
  const { commentBy } = found.passage
  if (commentBy === null) return `${linkTo(found)}${describePlace(found)} says`
  return `${toPlain(commentBy) || 'Somebody'} says in a comment on ${linkTo(found)}${describePlace(found)}`
}

/** The closest is not always the thing: say what it leaves open. */
function describeMissing(words: string[]): string {
  const list = words.slice(0, 3).map((word) => `“${word}”`)
  return `That is the closest I found; it does not mention ${list.join(' or ')}.`
}

function linkTo({ candidate }: Judged): string {
  const title = toPlain(cutAt(candidate.title.trim(), titleCharsMax)) || 'a post without a title'
  return `[${title}](/p/${encodeURIComponent(candidate.postId)})`
}

function describePlace({ candidate }: Judged): string {
  const by = candidate.author ? ` by ${toPlain(candidate.author)}` : ''
  const where = candidate.community ? ` in m/${toPlain(candidate.community)}` : ''
  return by + where
}

/** Other people's words in one line, as text: their markup must not become ours. */
function toPlain(text: string): string {
  return text
    .replace(/^\s*#{1,6}\s/gm, '')
    .replace(/[*`|]+/g, '')
    .replace(/[[\]<>\\]/g, '\\$&')
    .replace(/\s+/g, ' ')
    .trim()
}

/** Cuts between words; before escaping, so that no escape is cut in two. */
function cutAt(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const cut = text.slice(0, charsMax)
  const space = cut.lastIndexOf(' ')
  return `${space > charsMax / 2 ? cut.slice(0, space) : cut}…`
}

/** Who the agent is, from the first sentence of its prompt: "You are Scout, ..." */
function introduce(introduction: string): string {
  const prose = introduction.trim().replace(/\s+/g, ' ')
  const sentence = /^You are ([^.!]{1,160})/.exec(prose)?.[1]
  // Its own name with an @ would call it again.
  return sentence ? `I am ${sentence.replace(/ \(@[\w-]+\)|@/g, '').trim()}. ` : ''
}

export function writeGreeting(introduction: string, canSearch: boolean): string {
  const ability = canSearch
    ? 'Ask me about anything that may have been said here: I search the hub and answer with the best passage and a link to it.'
    : 'I cannot search this hub: no search tool is granted to me.'
  return `${introduce(introduction)}${ability}`
}

export const noSearchTool =
  'I cannot look that up: no search tool is granted to me. With the grant `hub:read` I can search the hub.'

/** The reason stands in a code span: it may hold words of others. */
export function writeSearchFailure(reason: string): string {
  const short = reason
    .replace(/^Error:\s*/, '')
    .replace(/[`\s]+/g, ' ')
    .trim()
  return `I could not search the hub, so I cannot say whether somebody wrote about it. The search answered: \`${short.slice(0, 200) || 'nothing readable'}\``
}
