import { cutText } from '../../../shared/cut-text'
import type { FeedPost } from './parse-results'
import type { Question, Task } from './parse-task'
import { type Finding, isSettling } from './rank-threads'
import {
  type Candidate,
  isAsking,
  listSources,
  passageCharsMax,
  splitText,
  withoutAddress,
} from './sources'

const titleCharsMax = 100
const lineCharsMax = 160
const shortLineChars = 40
const linesMax = 12
const quoteCharsMax = 80
/** How much less a second thread may fit than the best one to be linked. */
const secondLead = 0.25

/**
 * Writes the answer to one question: the best passage as a quotation with its source, and perhaps a second link.
 *
 * @param ownId of the thread of the question, which is not linked
 * @param authors who asked
 */
export function formatFinding(
  [best, second]: Finding[],
  ownId = '',
  authors: string[] = [],
): string {
  if (!best) return nothingText
  const { passage, candidate, missingWords } = best
  const quote = truncateAt(passage.text, passageCharsMax)
    .split('\n')
    .map((line) => `> ${toPlain(line)}`)
  const author = toPlain(passage.author || candidate.author) || 'A user'
  const said =
    candidate.postId === ownId
      ? `${authors.includes(author) ? 'You say' : `${author} says`} in this thread`
      : passage.isComment
        ? `${author} says in a comment on ${linkTo(candidate)}`
        : `${linkTo(candidate)} says`
  const lines = [`${said}:`, '', quote.join('  \n')]
  if (missingWords.length > 0) {
    const list = missingWords.slice(0, 3).map((word) => `“${word}”`)
    lines.push('', `That is the closest I found; it does not mention ${list.join(' or ')}.`)
  }
  if (
    second &&
    second.missingWords.length <= missingWords.length &&
    second.score > best.score - secondLead
  )
    lines.push('', `See also ${linkTo(second.candidate)}.`)
  return lines.join('\n')
}

const nothingText = 'I searched the hub and nothing fits that question.'
export const limitText =
  'I quote what was written on this hub, and do not write, translate, calculate or count. For that, an admin can add a model at [/models](/models).'

/** Writes that nothing answers, with the titles that come nearest. */
export function formatNothing(nearest: Candidate[]): string {
  const list = nearest.map((candidate) => `- ${linkTo(candidate)}`)
  const lines = list.length > 0 ? ['', 'The nearest posts:', '', ...list] : []
  return [nothingText, ...lines, '', `${limitText} Ask “What can you do?” for examples.`].join('\n')
}

/** Returns the authors and a quotation of a question in one line, to refer to it among several. */
export function formatQuestion({ authors, text }: Question): string {
  const names = toPlain(authors.filter(Boolean).join(' and '))
  const quote = toPlain(truncateAt(text.replace(/\s+/g, ' '), quoteCharsMax))
  return [names, quote && `“${quote}”`].filter(Boolean).join(', ')
}

export const noSearchTermsText =
  'I found no word in that to search for. Name the subject, and mention me again.'

/** Lists the questions beyond the limit of one answer. */
export const formatSkippedQuestions = (questions: Question[], questionsMax: number): string =>
  [
    `I look up ${questionsMax} questions at a time, so I have not looked up these. Please ask me again:`,
    '',
    ...questions.map((question) => `- ${formatQuestion(question)}`),
  ].join('\n')

/** Returns a link to a post with its author and its community. */
function linkTo(post: Omit<FeedPost, 'id'> & { postId: string }): string {
  const { title, postId, author, community } = post
  const text = toPlain(truncateAt(title?.trim() ?? '', titleCharsMax)) || 'a post without a title'
  const by = author ? ` by ${toPlain(author)}` : ''
  const where = community ? ` in m/${toPlain(community)}` : ''
  return `[${text}](/p/${encodeURIComponent(postId)})${by}${where}`
}

/** Converts quoted text to one line without active markup. */
const toPlain = (text: string): string =>
  text
    .replace(/^[^\S\n\r\u2028\u2029]*#{1,6}\s/gm, '')
    .replace(/[*`|]+/g, '')
    .replace(/[[\]<>\\]/g, '\\$&')
    .replace(/\s+/g, ' ')
    .trim()

/** Truncates between words. Must run before escaping, so that no escape is split. */
function truncateAt(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const start = cutText(text, charsMax)
  const space = start.lastIndexOf(' ')
  return `${space > charsMax / 2 ? start.slice(0, space) : start}…`
}

/** Returns what settles something in a text, or its beginning, in one line; empty without a statement. */
function toLine(text: string): string {
  const statements = splitText(text)
    .filter((each) => !isAsking(each) && !each.endsWith(':'))
    .map(withoutAddress)
  const isShort = (statements[0]?.length ?? 0) < shortLineChars
  const line = statements.find(isSettling) ?? statements.slice(0, isShort ? 3 : 1).join(' ')
  return toShort(line)
}

/** Truncates a line. In a code span a name wakes nobody. */
const toShort = (line: string) =>
  toPlain(truncateAt(line, lineCharsMax)).replace(/(?<![\w`])@[\w-]+/g, '`$&`')

/** Lists posts of the feed, newest first, with a line each. */
export function formatFeed(posts: FeedPost[], since: number): string {
  if (posts.length === 0) return 'There are no posts that I can read yet.'
  const recent = posts.filter(({ created_at }) => Date.parse(created_at ?? '') >= since)
  const toItem = ({ id: postId, excerpt, ...post }: FeedPost) => {
    const line = toLine(excerpt ?? '')
    return `- ${linkTo({ ...post, postId })}${line && `: ${line}`}`
  }
  const [lead, shown] =
    recent.length > 0
      ? ['The newest posts:', recent.slice(0, linesMax)]
      : ['No post is that new. The newest posts are:', posts.slice(0, olderMax)]
  return [lead, '', ...shown.map(toItem)].join('\n')
}

const olderMax = 3

/** Summarizes a thread: its post and its comments with a line each. */
export function formatThread(candidate: Candidate, agentName: string, ownId?: string): string {
  const lines = listSources(candidate, agentName).flatMap(({ text, author }) => {
    const line = toLine(text)
    return line ? [`- ${toPlain(author) || 'A user'}: ${line}`] : []
  })
  const place = candidate.postId === ownId ? 'This thread' : linkTo(candidate)
  if (lines.length === 0)
    return `${place} has no statement of people to list.${toAsked(candidate.thread)}`
  const shown = lines.slice(0, 1).concat(lines.slice(1).slice(1 - linesMax))
  const rest = lines.length - shown.length
  const omitted = rest > 0 ? ` (${rest} are left out)` : ''
  return [`${place}, with a line of each text${omitted}:`, '', ...shown].join('\n')
}

/** Writes what people asked in a thread, and which agents answered. */
function toAsked(thread: Candidate['thread']): string {
  const lines = toTexts(thread).flatMap(({ author, author_kind: kind, content }) =>
    splitText(kind === 'agent' ? '' : (content ?? ''))
      .filter(isAsking)
      .map((each) => `- ${toPlain(author || 'A user')}: ${toShort(withoutAddress(each))}`),
  )
  if (lines.length === 0) return ''
  const asked = lines.slice(-linesMax).join('\n')
  return ` What was asked:\n\n${asked}\n\n${listAgents(thread) || 'Nobody'} answered.`
}

const toTexts = (thread: Candidate['thread']) => (thread ? [thread.post, ...thread.comments] : [])

/** Returns the names of the agents that wrote in a thread, after another one. */
function listAgents(thread: Candidate['thread'], first = ''): string {
  const agents = toTexts(thread).filter(({ author_kind: kind }) => kind === 'agent')
  const names = new Set([first, ...agents.map(({ author }) => author ?? '')].filter(Boolean))
  return toPlain([...names].join(', ').replace(/, (?=[^,]*$)/, ' and '))
}

/** Names the agents of the task, as far as they are known. */
export function formatAgents({ agentName, thread }: Task): string {
  const names = listAgents(thread, agentName)
  return `${names && `Here I know of ${names}. `}[Agents](/agents) lists all agents, each with its model and its cost. Write @ and a name to ask one.`
}

/** Writes who the agent is, from the first sentence of its prompt ("You are Scout, ..."), and what can be asked. */
export function formatHelp({ introduction }: Task, canSearch: boolean): string {
  const prose = introduction.trim().replace(/\s+/g, ' ')
  const sentence = /^You are ([^.!]{1,160})/.exec(prose)?.[1]
  // A mention of its own name would wake the agent again.
  const name = sentence ? `I am ${sentence.replace(/ \(@[\w-]+\)|@/g, '').trim()}. ` : ''
  if (!canSearch) return `${name}${noSearchToolText}`
  return `${name}I search this hub and answer with the best passage that I find and a link to it, without a language model. You can ask:

- what was said or decided: “What did we decide about the logo?”
- what is new: “What is new this week?”
- for a summary, in a thread: “Summarize this thread”
- about the hub: “How do I limit spending?”

${limitText}`
}

export const thanksText = 'You are welcome.'

export const correctionText =
  'Thank you for the correction. I quote it from this thread from now on.'

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
