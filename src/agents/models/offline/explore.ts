import type { ToolOutput } from '../../loop/message'
import { explorationOpening } from '../../text/exploration-opening'
import { extractTerms, toQuery, toWords } from '../../text/words'
import type { ModelRequest } from '../model-port'
import { formatFinding } from './format-answer'
import { parseHits, parseThread } from './parse-results'
import { findAgentName, parseBlocks, type Question, searchTool, threadTool } from './parse-task'
import type { Candidate } from './passages'
import { groupHits, rankCandidates, scoreCandidates } from './score-candidates'

const commentTool = 'hub_create_comment'
const hitsMax = 20
/** Threads to read per question, and per exploration. */
const threadsPerQuestion = 2
const threadsMax = 6
/** An uninvited answer requires at least two search terms. */
const termsMin = 2

interface Decision {
  text: string
  calls: { name: string; arguments: Record<string, unknown> }[]
}

/** A post with a question, and the text of its newest comments. */
interface QuestionPost {
  postId: string
  question: Question
  commentText: string
}

const pass: Decision = { text: 'PASS', calls: [] }

/**
 * Returns the next step of an exploration: answers the first of the shown questions that this hub
 * has an answer to, quoted with its source. Skips sources that the thread already links to. Null when
 * the request is not an exploration.
 */
export function explore({ messages, tools }: ModelRequest): Decision | null {
  const at = messages.findLastIndex(
    (message) => message.role === 'user' && message.text.startsWith(explorationOpening),
  )
  const opening = messages[at]
  if (opening?.role !== 'user') return null
  const results = messages
    .slice(at + 1)
    .flatMap((message) => (message.role === 'tool' ? message.results : []))
  const has = (name: string) => tools.some((tool) => tool.name === name)
  const asked = findQuestions(opening.text)
  const isDone = results.some(({ name }) => name === commentTool)
  if (asked.length === 0 || isDone || !has(commentTool) || !has(searchTool)) return pass
  const system = messages.flatMap((message) => (message.role === 'system' ? [message.text] : []))
  return decideNext(asked, results, findAgentName(system, ''), has(threadTool))
}

/** Searches for all questions, then reads the best threads, then answers one question. */
function decideNext(
  asked: QuestionPost[],
  results: ToolOutput[],
  agentName: string,
  canRead: boolean,
): Decision {
  const searches = results.filter(({ name }) => name === searchTool)
  if (searches.length === 0) {
    return call(
      asked.map(({ question }) => ({
        name: searchTool,
        arguments: { query: toQuery(question.terms), limit: hitsMax },
      })),
    )
  }
  const chosen = asked.map((each, index) => choose(searches[index], each, agentName))
  const threads = results.filter(({ name }) => name === threadTool)
  const wanted = listThreads(chosen)
  if (wanted.length > 0 && threads.length === 0 && canRead) {
    return call(wanted.map((postId) => ({ name: threadTool, arguments: { post_id: postId } })))
  }
  for (const [index, { question, postId }] of asked.entries()) {
    const found = scoreCandidates(addThreads(chosen[index] ?? [], threads), question, agentName)
    const [best] = found
    if (!best) continue
    const confidence = Math.round(Math.min(1, best.score) * 100) / 100
    const content = `This was discussed before. ${formatFinding(found)}`
    return call([{ name: commentTool, arguments: { post_id: postId, content, confidence } }])
  }
  return pass
}

const call = (calls: Decision['calls']): Decision => ({ text: '', calls })

/** Finds the posts with questions, in their order: the best match first. */
function findQuestions(text: string): QuestionPost[] {
  const asked: QuestionPost[] = []
  let last: QuestionPost | null = null
  for (const { id, author, body, isQuestion } of parseBlocks(text)) {
    if (id === '') {
      if (last) last.commentText += body
      continue
    }
    const terms = extractTerms(body)
    const question = { authors: [author], quote: '', terms, words: toWords(body) }
    last = { postId: id, question, commentText: '' }
    if (isQuestion && terms.length >= termsMin) asked.push(last)
  }
  return asked
}

function choose(
  search: ToolOutput | undefined,
  { question, postId, commentText }: QuestionPost,
  agentName: string,
): Candidate[] {
  const hits = !search || search.isError ? null : parseHits(search.text)
  if (!hits) return []
  const candidates = groupHits(hits, new Set([postId]), agentName)
  const best = rankCandidates(candidates, question, threadsPerQuestion)
  const isLinked = best.some(({ postId: id }) =>
    commentText.includes(`/p/${encodeURIComponent(id)})`),
  )
  return isLinked ? [] : best
}

/** Lists the best thread of each question, then the second best of each. */
function listThreads(chosen: Candidate[][]): string[] {
  const rounds = Array.from({ length: threadsPerQuestion }, (_, round) =>
    chosen.flatMap((candidates) => candidates[round]?.postId ?? []),
  )
  return [...new Set(rounds.flat())].slice(0, threadsMax)
}

function addThreads(candidates: Candidate[], results: ToolOutput[]): Candidate[] {
  const threads = results.flatMap(({ text, isError }) => (isError ? [] : (parseThread(text) ?? [])))
  return candidates.map((candidate) => {
    const thread = threads.find(({ post }) => post.id === candidate.postId)
    return thread
      ? { ...candidate, thread, author: thread.post.author ?? candidate.author }
      : candidate
  })
}
