import type { ModelAnswer, ToolRequest } from '../../loop/message'
import { toQuery } from '../../text/words'
import { estimateTokens } from '../estimate-tokens'
import type { Model, ModelRequest } from '../model-port'
import { explore } from './explore'
import {
  formatFinding,
  formatGreeting,
  formatQuestion,
  formatSearchFailure,
  formatSkippedQuestions,
  noSearchTermsText,
  noSearchToolText,
} from './format-answer'
import { type ParsedThread, parseHits, parseThread } from './parse-results'
import { parseTask, type Question, searchTool, type Task, threadTool } from './parse-task'
import type { Candidate } from './passages'
import { groupHits, rankCandidates, scoreCandidates } from './score-candidates'

/** Each question needs a search and at least one thread: both fit into the calls of a step. */
const questionsMax = 10
const threadsPerQuestionMax = 3
/** Threads of all questions together, to keep the prompt small. */
const threadsMax = 9
const hitsMax = 20
const hitsOfManyMax = 10
const manyQuestions = 4
const piecesMax = 8

/**
 * Returns the built-in model: deterministic, without network access and free. It searches the hub for
 * the words of the question, reads the best threads and quotes the best passage with a link, or
 * answers that nothing fits. Texts it reads are compared and quoted only, so they cannot influence
 * its behaviour.
 */
export function createOfflineModel(): Model {
  return {
    id: 'offline/extractive',
    provider: 'offline',
    isOffline: true,
    contextTokens: 100_000,
    outputTokensMax: 4_096,
    prices: { input: 0, cached: 0, output: 0 },
    async call(request) {
      if (request.signal.aborted) return { ok: false, failure: cancelled }
      const decision = decide(request)
      for (const text of splitIntoPieces(decision.text)) request.onDelta?.({ kind: 'text', text })
      return { ok: true, answer: toAnswer(request, decision) }
    },
  }
}

const cancelled = {
  code: 'CANCELLED',
  message: 'The model call was cancelled.',
  isRetryable: false,
  retryAfterMs: null,
  mayBeCharged: false,
} as const

interface Decision {
  text: string
  calls: { name: string; arguments: Record<string, unknown> }[]
}

/** Splits a text at word boundaries into up to 8 pieces, to stream it to watchers. */
function splitIntoPieces(text: string): string[] {
  const words = text.split(/(?<=\s)(?=\S)/)
  const size = Math.ceil(words.length / piecesMax)
  const pieces = Array.from({ length: piecesMax }, (_, index) =>
    words.slice(index * size, (index + 1) * size).join(''),
  )
  return pieces.filter((piece) => piece !== '')
}

const toFinalAnswer = (text: string): Decision => ({ text, calls: [] })

const decide = (request: ModelRequest): Decision => explore(request) ?? decideAnswer(request)

/** Decides the next step (search, read or answer) from the results in the conversation. */
function decideAnswer({ messages, tools }: ModelRequest): Decision {
  const has = (name: string) => tools.some((tool) => tool.name === name)
  const task = parseTask(messages)
  const searchable = task.questions.filter(({ terms }) => terms.length > 0)
  if (searchable.length === 0)
    return toFinalAnswer(formatGreeting(task.introduction, has(searchTool)))
  const asked = searchable.slice(0, questionsMax)
  if (task.searches.length === 0) {
    return has(searchTool)
      ? { text: '', calls: toSearches(asked) }
      : toFinalAnswer(noSearchToolText)
  }
  const searched = asked.map((question, index) => chooseFor(task, question, index, asked.length))
  const failures = searched.flatMap(({ failure }) => failure ?? [])
  if (failures[0] && failures.length === asked.length) return toFinalAnswer(failures[0])
  if (task.threads.length === 0 && has(threadTool)) {
    const postIds = new Set(searched.flatMap(({ chosen }) => chosen.map(({ postId }) => postId)))
    const calls = [...postIds].map((post_id) => ({ name: threadTool, arguments: { post_id } }))
    if (calls.length > 0) return { text: '', calls }
  }
  return toFinalAnswer(writeAnswers(task, searched, searchable.slice(questionsMax)))
}

function toSearches(questions: Question[]): Decision['calls'] {
  const limit = questions.length < manyQuestions ? hitsMax : hitsOfManyMax
  return questions.map(({ terms }) => ({
    name: searchTool,
    arguments: { query: toQuery(terms), limit },
  }))
}

/** The search results of one question. */
interface SearchedQuestion {
  question: Question
  chosen: Candidate[]
  /** A message for users when the search failed. */
  failure: string | null
}

function chooseFor(task: Task, question: Question, index: number, count: number): SearchedQuestion {
  const result = task.searches[index]
  const hits = result && !result.isError ? parseHits(result.text) : null
  if (!hits) return { question, chosen: [], failure: formatSearchFailure(result?.text ?? '') }
  const threads = Math.min(threadsPerQuestionMax, Math.max(1, Math.floor(threadsMax / count)))
  const candidates = groupHits(hits, task.taskIds, task.agentName)
  return { question, chosen: rankCandidates(candidates, question, threads), failure: null }
}

/** Writes an answer to every question, in sections when there are several. */
function writeAnswers(task: Task, searched: SearchedQuestion[], notLookedUp: Question[]): string {
  const threads = task.threads.flatMap(({ text, isError }) =>
    isError ? [] : (parseThread(text) ?? []),
  )
  const read = new Map(threads.map((thread) => [thread.post.id, thread]))
  const hasSeveral = task.questions.length > 1
  const head = (question: Question) => (hasSeveral ? `For ${formatQuestion(question)}: ` : '')
  const sections = searched.map(({ question, chosen, failure }) => {
    const candidates = chosen.map((each) => addThread(each, read.get(each.postId)))
    const found = failure ?? formatFinding(scoreCandidates(candidates, question, task.agentName))
    return head(question) + found
  })
  const withoutTerms = task.questions.filter(({ terms }) => terms.length === 0)
  sections.push(...withoutTerms.map((question) => head(question) + noSearchTermsText))
  if (notLookedUp.length > 0) sections.push(formatSkippedQuestions(notLookedUp, questionsMax))
  return sections.join('\n\n')
}

function addThread(candidate: Candidate, thread: ParsedThread | undefined): Candidate {
  if (!thread) return candidate
  const { title, author, community } = thread.post
  return {
    ...candidate,
    title: title ?? candidate.title,
    author: author ?? candidate.author,
    community: community ?? candidate.community,
    thread,
  }
}

function toAnswer({ messages, tools }: ModelRequest, { text, calls }: Decision): ModelAnswer {
  const step = messages.filter(({ role }) => role === 'assistant').length + 1
  const requests: ToolRequest[] = calls.map((call, index) => ({
    callId: `offline_${step}_${index + 1}`,
    name: call.name,
    arguments: JSON.stringify(call.arguments),
  }))
  const chars = text.length + requests.reduce((sum, call) => sum + call.arguments.length, 0)
  return {
    text,
    reasoning: '',
    calls: requests,
    finish: requests.length > 0 ? 'tool-calls' : 'stop',
    usage: {
      inputTokens: estimateTokens(messages, tools),
      cachedTokens: 0,
      outputTokens: Math.ceil(chars / 4),
      reasoningTokens: 0,
    },
  }
}
