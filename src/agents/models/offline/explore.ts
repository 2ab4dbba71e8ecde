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
/** Threads that are read for one question, and in one turn. */
const threadsPerQuestion = 2
const threadsMax = 6
/** A question of one word is too little to speak up unasked. */
const termsMin = 2

interface Decision {
  text: string
  calls: { name: string; arguments: Record<string, unknown> }[]
}

/** A post that asks something, and what its newest comments say. */
interface Asked {
  postId: string
  question: Question
  said: string
}

const pass: Decision = { text: 'PASS', calls: [] }

/**
 * A turn to look around (S9): of the questions that it is shown, in their order, the first one that
 * this hub has an answer to gets it, quoted with its source. A source that the thread already links to
 * adds nothing. Null when it has been asked something instead.
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
  const asked = findQuestions(turn.text)
  const isDone = results.some(({ name }) => name === commentTool)
  if (asked.length === 0 || isDone || !has(commentTool) || !has(searchTool)) return pass
  const system = messages.flatMap((message) => (message.role === 'system' ? [message.text] : []))
  return lookUp(asked, results, findAgentName(system, ''), has(threadTool))
}

/** First all questions are searched for, then the best threads are read, then one is answered. */
function lookUp(
  asked: Asked[],
  results: ToolOutput[],
  agentName: string,
  mayRead: boolean,
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
  const chosen = asked.map((one, index) => choose(searches[index], one, agentName))
  const threads = results.filter(({ name }) => name === threadTool)
  const wanted = listThreads(chosen)
  if (wanted.length > 0 && threads.length === 0 && mayRead) {
    return call(wanted.map((postId) => ({ name: threadTool, arguments: { post_id: postId } })))
  }
  for (const [index, { question, postId }] of asked.entries()) {
    const found = judge(addThreads(chosen[index] ?? [], threads), question, agentName)
    const [best] = found
    if (!best) continue
    const confidence = Math.round(Math.min(1, best.score) * 100) / 100
    const content = `Somebody wrote about this before. ${writeFinding(found)}`
    return call([{ name: commentTool, arguments: { post_id: postId, content, confidence } }])
  }
  return pass
}

const call = (calls: Decision['calls']): Decision => ({ text: '', calls })

/** The posts that ask something, in the order of the turn: the best match first. */
function findQuestions(text: string): Asked[] {
  const asked: Asked[] = []
  let last: Asked | null = null
  for (const { id, author, body, isQuestion } of readBlocks(text)) {
    if (id === '') {
      if (last) last.said += body
      continue
    }
    const terms = readTerms(body)
    const question = { authors: [author], quote: '', terms, words: wordsOf(body) }
    last = { postId: id, question, said: '' }
    if (isQuestion && terms.length >= termsMin) asked.push(last)
  }
  return asked
}

function choose(
  search: ToolOutput | undefined,
  { question, postId, said }: Asked,
  agentName: string,
): Candidate[] {
  const hits = !search || search.isError ? null : readHits(search.text)
  if (!hits) return []
  const candidates = groupHits(hits, new Set([postId]), agentName)
  const best = chooseCandidates(candidates, question, threadsPerQuestion)
  const isSaid = best.some((one) => said.includes(`/p/${encodeURIComponent(one.postId)})`))
  return isSaid ? [] : best
}

/** The best thread of each question, then the second best. */
function listThreads(chosen: Candidate[][]): string[] {
  const rounds = Array.from({ length: threadsPerQuestion }, (_, round) =>
    chosen.flatMap((candidates) => candidates[round]?.postId ?? []),
  )
  return [...new Set(rounds.flat())].slice(0, threadsMax)
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
