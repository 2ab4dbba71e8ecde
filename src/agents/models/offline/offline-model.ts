import type { ModelAnswer, ToolRequest } from '../../loop/message'
import { explorationOpening } from '../../text/exploration-opening'
import { parseBlocks } from '../../text/fence'
import { estimateTokens } from '../estimate-tokens'
import type { Model, ModelRequest } from '../model-port'
import { answerQuestion, search } from './answer-question'
import {
  formatFinding,
  formatQuestion,
  formatSkippedQuestions,
  noSearchTermsText,
} from './format-answer'
import { findAgentName, parseTask, searchTool, toQuestion } from './parse-task'
import { rankThreads } from './rank-threads'
import { type Call, openTools } from './sources'

/** Each question needs a search and at least one thread: both fit into the calls of a step. */
const questionsMax = 10
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
  calls: Call[]
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

/** Decides the next step: the calls whose results are missing, or the answer. */
function decide(request: ModelRequest): Decision {
  const explored = explore(request)
  if (explored) return { text: explored.length > 0 ? '' : 'PASS', calls: explored }
  const task = parseTask(request.messages)
  const { questions } = task
  if (questions.length === 0) return { text: noSearchTermsText, calls: [] }
  const tools = openTools(task.since, request.tools)
  const asked = questions.slice(0, questionsMax)
  const sections = asked.map((question) => {
    const answer = answerQuestion({ question, task, tools, count: asked.length })
    return questions.length > 1 ? `For ${formatQuestion(question)}: ${answer}` : answer
  })
  if (tools.missing.length > 0) return { text: '', calls: tools.missing }
  const rest = questions.slice(questionsMax)
  if (rest.length > 0) sections.push(formatSkippedQuestions(rest, questionsMax))
  return { text: sections.join('\n\n'), calls: [] }
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

const commentTool = 'hub_create_comment'
/** An uninvited answer requires at least two search terms. */
const termsMin = 2

/**
 * Returns the calls of the next step of an exploration: answers the first of the shown questions that this hub
 * has an answer to, quoted with its source. Skips sources that the thread already links to. Empty when it passes,
 * null when the request is not an exploration.
 */
function explore({ messages, tools: granted }: ModelRequest): Call[] | null {
  const at = messages.findLastIndex(
    (message) => message.role === 'user' && message.text.startsWith(explorationOpening),
  )
  const opening = messages[at]
  if (opening?.role !== 'user') return null
  const tools = openTools(messages.slice(at + 1), granted)
  if (!tools.has(commentTool) || !tools.has(searchTool) || tools.hasCalled(commentTool)) return []
  const agentName = findAgentName(messages, '')
  const asked = findQuestions(opening.text)
  const found = asked.map(({ question, postId, comments }) => {
    const task = { taskIds: new Set([postId]), agentName, stepsLeft: 0 }
    const searched = search({ question, task, tools, count: asked.length })
    const chosen = searched && 'chosen' in searched ? searched.chosen : []
    const isLinked = chosen.some((each) => comments.includes(`/p/${each.postId})`))
    return { postId, found: isLinked ? [] : rankThreads(chosen, question, agentName) }
  })
  if (tools.missing.length > 0) return tools.missing
  const answered = found.find((each) => each.found.length > 0)
  if (!answered) return []
  const { postId, found: findings } = answered
  const content = `This was discussed before. ${formatFinding(findings)}`
  const confidence = Math.round(Math.min(1, findings[0]?.score ?? 0) * 100) / 100
  return [{ name: commentTool, arguments: { post_id: postId, content, confidence } }]
}

/** Finds the posts with questions, each with the texts of its newest comments; the best match comes first. */
function findQuestions(text: string) {
  const blocks = parseBlocks(text)
  const asked = blocks.flatMap(({ id, author, body, isQuestion }, at) => {
    if (id === '' || !isQuestion) return []
    const end = blocks.findIndex((each, index) => index > at && each.id !== '')
    const below = blocks.slice(at + 1, end < 0 ? undefined : end)
    const comments = below.map((each) => each.body).join('\n')
    return [{ postId: id, comments, question: toQuestion(author, body, '') }]
  })
  return asked.filter(({ question }) => question.terms.length >= termsMin)
}
