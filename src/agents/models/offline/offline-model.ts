import type { ModelAnswer, ToolRequest } from '../../loop/message'
import { estimateTokens } from '../estimate-tokens'
import type { Model, ModelRequest } from '../model-port'
import { chooseCandidates, groupHits, judge } from './judge'
import type { Candidate } from './passages'
import { type ReadThread, readHits, readThread } from './read-results'
import { type Question, readTask, searchTool, type Task, threadTool } from './read-task'
import { toQuery } from './words'
import { noSearchTool, writeFinding, writeGreeting, writeSearchFailure } from './write-answer'

const hitsMax = 20
const threadsPerQuestion = 3

/**
 * The built-in model: deterministic, without a network and for nothing. It searches the hub for
 * the words of the question, reads the best threads and quotes the passage that fits, with a link;
 * or says that nothing fits. What it reads is only ever compared and quoted: there is no path by
 * which a text it found could steer it.
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
      if (decision.text) request.onDelta?.({ kind: 'text', text: decision.text })
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

const say = (text: string): Decision => ({ text, calls: [] })

/** Search, read, answer: which of them is next shows in what the conversation already holds. */
function decide({ messages, tools }: ModelRequest): Decision {
  const has = (name: string) => tools.some((tool) => tool.name === name)
  const task = readTask(messages)
  if (task.questions.length === 0) return say(writeGreeting(task.introduction, has(searchTool)))
  if (task.searches.length === 0) {
    return has(searchTool) ? { text: '', calls: task.questions.map(toSearch) } : say(noSearchTool)
  }
  const failed = task.searches.find(({ text, isError }) => isError || readHits(text) === null)
  if (failed) return say(writeSearchFailure(failed.text))
  const chosen = task.questions.map((question, index) => chooseFor(task, question, index))
  if (task.threads.length === 0 && has(threadTool)) {
    const postIds = new Set(chosen.flat().map(({ postId }) => postId))
    const calls = [...postIds].map((post_id) => ({ name: threadTool, arguments: { post_id } }))
    if (calls.length > 0) return { text: '', calls }
  }
  return say(writeAnswers(task, chosen))
}

function toSearch({ terms, words }: Question): Decision['calls'][number] {
  return { name: searchTool, arguments: { query: toQuery(terms, words), limit: hitsMax } }
}

function chooseFor(task: Task, question: Question, index: number): Candidate[] {
  const hits = readHits(task.searches[index]?.text ?? '') ?? []
  return chooseCandidates(
    groupHits(hits, task.ownIds, task.agentName),
    question,
    threadsPerQuestion,
  )
}

function writeAnswers(task: Task, chosen: Candidate[][]): string {
  const threads = task.threads.flatMap(({ text, isError }) =>
    isError ? [] : (readThread(text) ?? []),
  )
  const read = new Map(threads.map((thread) => [thread.post.id, thread]))
  const areMany = task.questions.length > 1
  return task.questions
    .map((question, index) => {
      const candidates = chosen[index]?.map((one) => addThread(one, read.get(one.postId))) ?? []
      const found = judge(candidates, question, task.agentName)
      return writeFinding(found, areMany ? question.author : null)
    })
    .join('\n\n')
}

function addThread(candidate: Candidate, thread: ReadThread | undefined): Candidate {
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
  const said = text.length + requests.reduce((sum, call) => sum + call.arguments.length, 0)
  return {
    text,
    reasoning: '',
    calls: requests,
    finish: requests.length > 0 ? 'tool-calls' : 'stop',
    usage: {
      inputTokens: estimateTokens(messages, tools),
      cachedTokens: 0,
      outputTokens: Math.ceil(said / 4),
      reasoningTokens: 0,
    },
  }
}
