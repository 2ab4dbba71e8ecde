import type { Message, ToolOutput } from '../../loop/message'
import { volatileMark } from '../to-prompt'
import { quoteQuestion } from './quote-question'
import { readTerms, type Term, wordsOf } from './words'

/** Something that one or several people asked. */
export interface Question {
  authors: string[]
  /** Its beginning in one line, to name it by. */
  quote: string
  /** Empty when no word in it can be searched for. */
  terms: Term[]
  /** All its words in order, to know a phrase again. */
  words: string[]
}

/** What the conversation is at, read from its messages. */
export interface Task {
  /** Words with which the system prompt introduces the agent. */
  introduction: string
  /** Lower case, without `@`; empty when nobody says it. */
  agentName: string
  /** In the order in which they were asked; the same question once. */
  questions: Question[]
  /** Ids of the posts and comments of the thread that asks: no answer to itself. */
  ownIds: Set<string>
  /** Results of this task's calls, in the order of the calls. */
  searches: ToolOutput[]
  threads: ToolOutput[]
}

const blockPattern = /<untrusted source="([^"]*)"([^>]*)>\n?([\s\S]*?)\n?<\/untrusted>/g
const attribute = (text: string, name: string) => new RegExp(` ${name}="([^"]*)"`).exec(text)?.[1]

export function readTask(messages: Message[]): Task {
  const at = findTask(messages)
  const task = messages[at]
  const text = task?.role === 'user' ? task.text : ''
  const system = messages.flatMap((message) => (message.role === 'system' ? [message.text] : []))
  const blocks = readBlocks(text)
  const asking = blocks.filter(({ asks }) => asks)
  const agentName = findAgentName(system, asking.map(({ body }) => body).join(' '))
  const results = messages
    .slice(at + 1)
    .flatMap((message) => (message.role === 'tool' ? message.results : []))
  return {
    introduction: system[0] ?? '',
    agentName,
    questions: toQuestions(blocks.length > 0 ? asking : [{ author: '', body: text }], agentName),
    ownIds: new Set(blocks.map(({ id }) => id)),
    searches: results.filter(({ name }) => name === searchTool),
    threads: results.filter(({ name }) => name === threadTool),
  }
}

/** What others wrote, as a prompt holds it. */
export const readBlocks = (text: string) =>
  [...text.matchAll(blockPattern)].map(([, , attributes = '', body = '']) => ({
    id: attribute(attributes, 'id') ?? '',
    author: attribute(attributes, 'author') ?? '',
    asks: attribute(attributes, 'asks') === 'true',
    isQuestion: attribute(attributes, 'question') === 'true',
    body,
  }))

export const searchTool = 'hub_search'
export const threadTool = 'hub_get_thread'

/** The newest message that asks something. */
function findTask(messages: Message[]): number {
  const asks = (message: Message) => message.role === 'user' && message.text.includes('asks="true"')
  const marked = messages.findLastIndex(asks)
  if (marked >= 0) return marked
  return messages.findLastIndex(
    (message) => message.role === 'user' && !message.text.startsWith(volatileMark),
  )
}

function toQuestions(asking: { author: string; body: string }[], agentName: string): Question[] {
  const questions = new Map<string, Question>()
  for (const { author, body } of asking) {
    const words = wordsOf(body)
    const same = questions.get(words.join(' '))
    if (!same) {
      const quote = quoteQuestion(body, agentName)
      questions.set(words.join(' '), { authors: [author], quote, terms: readTerms(body), words })
    } else if (!same.authors.includes(author)) same.authors.push(author)
  }
  return [...questions.values()]
}

export function findAgentName(system: string[], asking: string): string {
  const told = system.map((text) => /You are @([\w-]+)/.exec(text)?.[1]).find(Boolean)
  return (told ?? /@([\w-]+)/.exec(asking)?.[1] ?? '').toLowerCase()
}
