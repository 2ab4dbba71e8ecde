import type { Message, ToolOutput } from '../../loop/message'
import { extractTerms, type Term, toWords } from '../../text/words'
import { statusMarker } from '../to-prompt'
import { quoteQuestion } from './quote-question'

/** A question, asked by one or several people. */
export interface Question {
  authors: string[]
  /** A short quotation in one line, to refer to the question. */
  quote: string
  /** Search terms; empty when the question has none. */
  terms: Term[]
  /** All words in order, to recognize phrases. */
  words: string[]
}

/** The state of a conversation, as far as its messages show it. */
export interface Task {
  /** The first system message, which introduces the agent. */
  introduction: string
  /** Lower case, without `@`; empty when unknown. */
  agentName: string
  /** In the order in which they were asked, without duplicates. */
  questions: Question[]
  /** Ids of the posts and comments in the task, which are not used as sources. */
  taskIds: Set<string>
  /** Results of this task's calls, in the order of the calls. */
  searches: ToolOutput[]
  threads: ToolOutput[]
}

const blockPattern = /<untrusted source="([^"]*)"([^>]*)>\n?([\s\S]*?)\n?<\/untrusted>/g
const attribute = (text: string, name: string) => new RegExp(` ${name}="([^"]*)"`).exec(text)?.[1]

/** Reads questions and tool results of the newest task from a conversation. */
export function parseTask(messages: Message[]): Task {
  const at = findTask(messages)
  const task = messages[at]
  const text = task?.role === 'user' ? task.text : ''
  const system = messages.flatMap((message) => (message.role === 'system' ? [message.text] : []))
  const blocks = parseBlocks(text)
  const asking = blocks.filter(({ asks }) => asks)
  const agentName = findAgentName(system, asking.map(({ body }) => body).join(' '))
  const results = messages
    .slice(at + 1)
    .flatMap((message) => (message.role === 'tool' ? message.results : []))
  return {
    introduction: system[0] ?? '',
    agentName,
    questions: toQuestions(blocks.length > 0 ? asking : [{ author: '', body: text }], agentName),
    taskIds: new Set(blocks.map(({ id }) => id)),
    searches: results.filter(({ name }) => name === searchTool),
    threads: results.filter(({ name }) => name === threadTool),
  }
}

/** Parses the <untrusted> blocks of a prompt. */
export const parseBlocks = (text: string) =>
  [...text.matchAll(blockPattern)].map(([, , attributes = '', body = '']) => ({
    id: attribute(attributes, 'id') ?? '',
    author: attribute(attributes, 'author') ?? '',
    asks: attribute(attributes, 'asks') === 'true',
    isQuestion: attribute(attributes, 'question') === 'true',
    body,
  }))

export const searchTool = 'hub_search'
export const threadTool = 'hub_get_thread'

/** Returns the index of the newest message with a question. */
function findTask(messages: Message[]): number {
  const asks = (message: Message) => message.role === 'user' && message.text.includes('asks="true"')
  const marked = messages.findLastIndex(asks)
  if (marked >= 0) return marked
  return messages.findLastIndex(
    (message) => message.role === 'user' && !message.text.startsWith(statusMarker),
  )
}

function toQuestions(asking: { author: string; body: string }[], agentName: string): Question[] {
  const questions = new Map<string, Question>()
  for (const { author, body } of asking) {
    const words = toWords(body)
    const same = questions.get(words.join(' '))
    if (!same) {
      const quote = quoteQuestion(body, agentName)
      questions.set(words.join(' '), { authors: [author], quote, terms: extractTerms(body), words })
    } else if (!same.authors.includes(author)) same.authors.push(author)
  }
  return [...questions.values()]
}

/** Returns the agent's name from its system prompt, else the first mention; empty without either. */
export function findAgentName(system: string[], asking: string): string {
  const introduced = system.map((text) => /You are @([\w-]+)/.exec(text)?.[1]).find(Boolean)
  return (introduced ?? /@([\w-]+)/.exec(asking)?.[1] ?? '').toLowerCase()
}
