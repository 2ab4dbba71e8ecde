import { hasTerm, type Term, toQuery, toStems, toWords } from '../../text/words'
import { answerAboutHub } from './about-hub'
import {
  correctionText,
  formatAgents,
  formatFeed,
  formatFinding,
  formatHelp,
  formatNothing,
  formatSearchFailure,
  formatThread,
  limitText,
  noSearchTermsText,
  noSearchToolText,
  thanksText,
} from './format-answer'
import { findCommunity, findIntent, findPeriod, hasSubject, type Intent } from './intents'
import {
  type FeedPost,
  type ParsedThread,
  parseFeed,
  parseHits,
  parseThread,
} from './parse-results'
import { type Question, searchTool, type Task, threadTool, toNames } from './parse-task'
import {
  type Finding,
  groupHits,
  isAskedOnly,
  isRelated,
  isSettling,
  rankThreads,
  sortThreads,
  toHitText,
} from './rank-threads'
import { type Candidate, isToAgent, listPassages, type Tools } from './sources'

const feedTool = 'hub_get_feed'
const discoverTool = 'hub_discover'
const threadsPerQuestionMax = 3
/** Threads of all questions together, to keep the prompt small. */
const threadsMax = 9
const hitsMax = 20
const hitsOfManyMax = 10
const manyQuestions = 4
const feedMax = 20
const nearestMax = 3
const hourMs = 3_600_000
const newsMs = 7 * 24 * hourMs

interface Search {
  question: Question
  task: Pick<Task, 'taskIds' | 'agentName' | 'stepsLeft'>
  tools: Tools
  /** Questions that are looked up together. */
  count: number
}

interface Case extends Search {
  task: Task
}

/** Returns the answer to a question, as far as the results of its calls are there. */
export function answerQuestion(asked: Case): string {
  const { question, tools } = asked
  const intent = findIntent(question.asked)
  const answer = intent && answerIntent(intent, asked)
  if (answer) return answer
  const aboutHub = answerAboutHub(question.asked)
  if (!aboutHub && question.own.length === 0) return noSearchTermsText
  if (!tools.has(searchTool)) return aboutHub ?? noSearchToolText
  return lookUp(asked, intent === 'summary', aboutHub)
}

/** Returns the answer to what needs no search; null when it needs one. */
function answerIntent(intent: Intent, asked: Case): string | null {
  const { question, task, tools } = asked
  switch (intent) {
    case 'help':
      return formatHelp(task, tools.has(searchTool))
    case 'agents':
      return formatAgents(task)
    case 'thanks':
      return thanksText
    case 'writing':
      return limitText
    case 'correction':
      return task.isReply ? correctionText : null
    case 'news':
      return listNews(asked)
    case 'summary': {
      if (hasSubject(question.asked)) return null
      const isAboutHub =
        findPeriod(question.asked) !== null || /\b(m\/|hub\b|new\b)/i.test(question.asked)
      return task.thread && !isAboutHub
        ? formatThread(toOwn(task, []), task.agentName, task.thread.post.id)
        : listNews(asked)
    }
  }
}

/** Returns the newest posts with a line each, without the questions of this task and those to agents. */
function listNews({ question, task, tools }: Case): string | null {
  const community = findCommunity(question.asked)
  const period = findPeriod(question.asked)
  const read = (name: string, args: Record<string, unknown>) => {
    const result = tools.has(name) ? tools.use(name, args) : null
    return (result && !result.isError && parseFeed(result.text)) || []
  }
  if (!tools.has(feedTool)) return null
  const newest = read(feedTool, { sort: 'new', limit: feedMax, ...(community && { community }) })
  // The feed may hold nothing but questions to the agent. Those that it has answered are not discovered.
  const open = read(discoverTool, {
    max_age_hours: (period ?? newsMs) / hourMs,
    limit: feedMax,
    ...(community && { communities: [community] }),
  })
  const posts = new Map([...newest, ...open].map((post) => [post.id, post]))
  const toAgent = `@${task.agentName} `
  const isNews = ({ id, excerpt }: FeedPost) =>
    !task.taskIds.has(id) &&
    !isToAgent(excerpt ?? '') &&
    !excerpt?.toLowerCase().startsWith(toAgent)
  const shown = [...posts.values()].filter(isNews)
  shown.sort((a, b) => Date.parse(b.created_at ?? '') - Date.parse(a.created_at ?? ''))
  return formatFeed(shown, period === null || task.now === null ? 0 : task.now - period)
}

/** What a search found: posts with hits, of which the best were read, or a message for users. */
type Searched = { all: Candidate[]; chosen: Candidate[] } | { failure: string }

export function search({ question, task, tools, count }: Search): Searched | null {
  const limit = count < manyQuestions ? hitsMax : hitsOfManyMax
  const { taskIds, agentName } = task
  const query = { query: toQuery(question.terms), limit }
  const result = tools.use(searchTool, query)
  if (!result) return null
  const hits = result.isError ? null : parseHits(result.text)
  if (!hits) return { failure: formatSearchFailure(result.text) }
  const max = Math.min(threadsPerQuestionMax, Math.max(1, Math.floor(threadsMax / count)))
  const mayGoOn = task.stepsLeft >= stepsToGoOn
  const found = groupHits(hits, taskIds).filter((each) => !isAskedOnly(each, agentName))
  // Questions to agents may fill the list. It has no further pages, but one of each kind.
  if (mayGoOn && found.length < max && hits.length >= hitsMax)
    for (const type of ['post', 'comment'])
      hits.push(...(parseHits(tools.use(searchTool, { ...query, type })?.text ?? '') ?? []))
  const all = groupHits(hits, taskIds)
  const sorted = sortThreads(all, question, agentName)
  const read = (from: number, to: number) =>
    sorted.slice(from, to).map((each) => readThread(each, tools))
  const chosen = read(0, max)
  // Those that turn out to hold nothing but questions are replaced, once.
  const empty = chosen.filter((each) => each.thread && !listPassages(each, agentName).length)
  return { all, chosen: chosen.concat(mayGoOn ? read(max, max + empty.length) : []) }
}

function readThread(candidate: Candidate, tools: Tools): Candidate {
  const result = tools.has(threadTool) ? tools.use(threadTool, { post_id: candidate.postId }) : null
  const thread = result && !result.isError ? parseThread(result.text) : null
  return thread
    ? { ...candidate, thread, author: thread.post.author ?? candidate.author }
    : candidate
}

/** Returns the thread of the task as a candidate, without what the requesters say in it; null outside of a thread. */
function toOwn({ thread }: Task, without: string[]): Candidate {
  const { id: postId, title, author, community } = thread?.post ?? { id: '' }
  const keep = (text: ParsedThread['post']) => {
    const isQuotable = !without.includes(text.author ?? '') || isSettling(text.content ?? '')
    return isQuotable ? text : { ...text, content: toNames(text.content ?? '') }
  }
  return {
    postId,
    title: title ?? '',
    author: author ?? '',
    community: community ?? '',
    hits: [],
    thread: thread && { post: keep(thread.post), comments: thread.comments.map(keep) },
  }
}

/** How much less the thread of the question may fit than another one. */
const ownLead = 0.3
/** A question with fewer terms is answered about the hub without a search. */
const aboutHubTermsMin = 3
/** Steps for more hits or threads, and the answer. */
const stepsToGoOn = 2
/** Steps for another search, its threads and the answer. */
const stepsOfSecondSearch = 3

function lookUp(asked: Case, isSummary: boolean, aboutHub: string | null): string {
  const { question, task, tools } = asked
  const { agentName, thread } = task
  const own = thread ? rankThreads([toOwn(task, question.authors)], question, agentName) : []
  if (aboutHub && own.length === 0 && question.own.length < aboutHubTermsMin) return aboutHub
  const searched = search(asked)
  if (!searched || tools.missing.length > 0) return ''
  if ('failure' in searched) return aboutHub ?? searched.failure
  const elsewhere = rankThreads(searched.chosen, question, agentName)
  const lead = (own[0]?.score ?? 0) - (elsewhere[0]?.score ?? 0) + ownLead
  const found = own.length > 0 && lead >= 0 ? [...own, ...elsewhere] : elsewhere
  if (aboutHub && found[0]?.missingWords.length !== 0) return aboutHub
  const [best, ...others] = found.length > 0 ? found : lookAgain(asked, searched.all)
  if (best && isSummary) return formatThread(best.candidate, agentName)
  if (best) return formatFinding([best, ...others], thread?.post.id, question.authors)
  const isNear = (each: Candidate) =>
    isRelated(each, question) &&
    listPassages(each, agentName).length > 0 &&
    !isToAgent(each.thread?.post.content ?? '')
  return formatNothing(searched.chosen.filter(isNear).slice(0, nearestMax))
}

/** Searches for words of the hits in place of those that were mistyped. */
function lookAgain(asked: Case, hits: Candidate[]): Finding[] {
  const { question, task } = asked
  const terms = mendTerms(question.terms, hits.map(toHitText).join(' '))
  if (!terms || task.stepsLeft < stepsOfSecondSearch) return []
  const mended = { ...question, own: terms, terms }
  const second = search({ ...asked, question: mended })
  return second && 'chosen' in second ? rankThreads(second.chosen, mended, task.agentName) : []
}

const mendedCharsMin = 4

/** Whether two words differ in one letter: another, a missing or an added one, or two in exchanged order. */
function isOneLetterOff(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 1 || one === other) return false
  let start = 0
  while (start < one.length && one[start] === other[start]) start++
  const rest = (text: string, skipped: number) => text.slice(start + skipped)
  if (rest(one, 1) === rest(other, 1) || rest(one, 1) === rest(other, 0)) return true
  if (rest(one, 0) === rest(other, 1)) return true
  const isExchanged = one[start] === other[start + 1] && one[start + 1] === other[start]
  return isExchanged && rest(one, 2) === rest(other, 2)
}

/** Replaces the terms that no text contains by a word of the texts that is one letter off; null when none is replaced. */
function mendTerms(terms: Term[], texts: string): Term[] | null {
  const stems = toStems(texts)
  const words = new Set(toWords(texts))
  let isMended = false
  const mended = terms.map((term) => {
    if (term.word.length < mendedCharsMin || hasTerm(stems, term.stem)) return term
    for (const word of words) {
      if (word.length < mendedCharsMin || !isOneLetterOff(term.word, word)) continue
      const [stem = word] = toStems(word)
      isMended = true
      return { ...term, word, stem }
    }
    return term
  })
  return isMended ? mended : null
}
