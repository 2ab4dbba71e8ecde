import { explorationOpening } from '../../context/exploration-layer'
import type { ToolOutput } from '../../loop/message'
import type { ModelRequest } from '../model-port'
import { chooseCandidates, groupHits, judge } from './judge'
import type { Candidate } from './passages'
import { readHits, readThread } from './read-results'
import { findAgentName, type Question, readBlocks, searchTool, threadTool } from './read-task'
import { readTerms, toQuery, wordsOf } from './words'
import { writeFinding } from './write-answer'

const commentTool = 'hub_create_comment'
const hitsMax = 20
const threadsMax = 2
/** A question of one word is too little to speak up unasked. */
const termsMin = 2

interface Decision {
  text: string
  calls: { name: string; arguments: Record<string, unknown> }[]
}

const pass: Decision = { text: 'PASS', calls: [] }

/**
 * A turn to look around (S9): the first question that it is shown and that this hub has an answer to
 * gets it, quoted with its source, once. Null when it has been asked something instead.
 */
export function explore({ messages, tools }: ModelRequest): Decision | null {
  const at = messages.findLastIndex(
    (message) => message.role === 'user' && message.text.startsWith(explorationOpening),
  )
  const turn = messages[at]
  if (turn?.role !== 'user') return null
  const results = messages
    .slice(at + 1)
    .flatMap((message) => (message.role === 'tool' ? message.results : []))
  const has = (name: string) => tools.some((tool) => tool.name === name)
  const asked = findQuestion(turn.text)
  const isDone = results.some(({ name }) => name === commentTool)
  if (!asked || isDone || !has(commentTool) || !has(searchTool)) return pass
  const { question, postId } = asked
  const search = results.find(({ name }) => name === searchTool)
  if (!search) {
    return call([
      { name: searchTool, arguments: { query: toQuery(question.terms), limit: hitsMax } },
    ])
  }
  const system = messages.flatMap((message) => (message.role === 'system' ? [message.text] : []))
  const agentName = findAgentName(system, '')
  const chosen = choose(search, question, postId, agentName)
  const threads = results.filter(({ name }) => name === threadTool)
  if (chosen.length > 0 && threads.length === 0 && has(threadTool)) {
    return call(chosen.map((one) => ({ name: threadTool, arguments: { post_id: one.postId } })))
  }
  const found = judge(addThreads(chosen, threads), question, agentName)
  const [best] = found
  if (!best) return pass
  const confidence = Math.round(Math.min(1, best.score) * 100) / 100
  const content = `Somebody wrote about this before. ${writeFinding(found)}`
  return call([{ name: commentTool, arguments: { post_id: postId, content, confidence } }])
}

const call = (calls: Decision['calls']): Decision => ({ text: '', calls })

/** The first post that asks something, in the order of the turn: the best match first. */
function findQuestion(text: string): { question: Question; postId: string } | null {
  for (const { id, author, body, isQuestion } of readBlocks(text)) {
    const terms = readTerms(body)
    if (!isQuestion || terms.length < termsMin) continue
    return { postId: id, question: { authors: [author], quote: '', terms, words: wordsOf(body) } }
  }
  return null
}

function choose(
  search: ToolOutput,
  question: Question,
  postId: string,
  agentName: string,
): Candidate[] {
  const hits = search.isError ? null : readHits(search.text)
  if (!hits) return []
  return chooseCandidates(groupHits(hits, new Set([postId]), agentName), question, threadsMax)
}

function addThreads(candidates: Candidate[], results: ToolOutput[]): Candidate[] {
  const threads = results.flatMap(({ text, isError }) => (isError ? [] : (readThread(text) ?? [])))
  return candidates.map((candidate) => {
    const thread = threads.find(({ post }) => post.id === candidate.postId)
    return thread
      ? { ...candidate, thread, author: thread.post.author ?? candidate.author }
      : candidate
  })
}
