import type { Message } from '../../loop/message'
import { parseBlocks } from '../../text/fence'
import { extractTerms, specificWeightMin, type Term, toWords } from '../../text/words'
import { statusMarker } from '../to-prompt'
import { callsForHelp, hasSubject, isCourtesy } from './intents'
import type { ParsedThread } from './parse-results'
import { isAsking, splitSentences } from './sources'

/** A question, asked by one or several people. */
export interface Question {
  authors: string[]
  /** What was written, without the agent's name. */
  text: string
  /** The part of it that the agent is asked. */
  asked: string
  /** Terms of the question itself; empty when it has none. */
  own: Term[]
  /** Search terms: those, and some of the thread when they are few. */
  terms: Term[]
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
  /** The thread of the task without the questions; null outside of a thread. */
  thread: ParsedThread | null
  /** Time of the task in milliseconds; null when unknown. */
  now: number | null
  /** Model calls that the task has left. */
  stepsLeft: number
  /** Whether something was said before the question. */
  isReply: boolean
  /** The messages after the task: its calls and their results. */
  since: Message[]
}

type Block = ReturnType<typeof parseBlocks>[number]

export const searchTool = 'hub_search'
export const threadTool = 'hub_get_thread'

/** Returns the texts of the messages of a role. */
const listTexts = (messages: Message[], role: 'system' | 'user'): string[] =>
  messages.flatMap((message) => (message.role === role ? [message.text] : []))

/** Reads questions and tool results of the newest task from a conversation. */
export function parseTask(messages: Message[]): Task {
  const at = messages.findLastIndex(
    (message) => message.role === 'user' && message.text.includes('asks="true"'),
  )
  const blocks = parseBlocks(listTexts(messages.slice(at, at + 1), 'user')[0] ?? '')
  const asking = blocks.filter(({ asks }) => asks)
  const agentName = findAgentName(messages, asking.map(({ body }) => body).join(' '))
  const status = listTexts(messages, 'user').findLast((each) => each.startsWith(statusMarker)) ?? ''
  const time = /^Time: (\S+Z)/m.exec(status)?.[1]
  return {
    introduction: listTexts(messages, 'system')[0] ?? '',
    agentName,
    questions: toQuestions(asking, blocks, agentName),
    taskIds: new Set(blocks.map(({ id }) => id)),
    thread: toThread(blocks),
    now: time ? Date.parse(time) : null,
    stepsLeft: Number(/ (\d+) more steps/.exec(status)?.[1] ?? Number.POSITIVE_INFINITY),
    isReply: asking.some(({ source }) => source !== 'post'),
    since: messages.slice(at + 1),
  }
}

/** Returns the agent's name from its system prompt, else the first mention; empty without either. */
export function findAgentName(messages: Message[], asking: string): string {
  const [, introduced] = /You are @([\w-]+)/.exec(listTexts(messages, 'system').join('\n')) ?? []
  return (introduced ?? /@([\w-]+)/.exec(asking)?.[1] ?? '').toLowerCase()
}

const mention = /(?<![\w@/.])@[\w-]+/g

/** Returns the names in a text, which say whose answers follow. */
export const toNames = (text: string): string => (text.match(mention) ?? []).join(' ')

/** Returns the thread of a task. Of a text that asks only the names are left, so that it is no source. */
function toThread(blocks: Block[]): ParsedThread | null {
  const toText = ({ body, asks, ...block }: Block) => {
    const { title, content } =
      block.source === 'post' ? splitTitle(body) : { title: '', content: body }
    return { ...block, title, content: asks ? toNames(body) : content }
  }
  const [post, ...comments] = blocks.filter(({ source }) => source !== 'task').map(toText)
  return post?.source === 'post' ? { post, comments } : null
}

/** Splits the title off the text of a post's block. */
function splitTitle(body: string): { title: string; content: string } {
  const [title = '', ...lines] = body.split('\n')
  return { title, content: lines.join('\n').trim() }
}

function toQuestions(asking: Block[], blocks: Block[], agentName: string): Question[] {
  const questions = new Map<string, Question>()
  const [first] = blocks
  const toName = (found: string) => (isNameOf(found, agentName) ? ' ' : found.slice(1))
  const context = first?.source === 'post' ? splitTitle(first.body).title : ''
  const subject = findSubject(blocks, agentName)
  for (const { source, author, body } of asking) {
    const { title, content } = splitTitle(body)
    const isInTitle = asksSomething(title) && !asksSomething(content)
    const isPost = source === 'post' && toWords(content).length > 0 && !isInTitle
    const written = isPost ? content : body
    // a title that asks is no context of itself
    const around = source === 'post' && !isPost ? '' : context
    const text = written.replace(mention, toName).trim()
    const asked = findAsked(written, agentName).replace(mention, toName).trim()
    const key = toWords(text).join(' ')
    const same = questions.get(key)
    if (!same) questions.set(key, { ...toQuestion(author, asked, around, subject), text })
    else if (!same.authors.includes(author)) same.authors.push(author)
  }
  return [...questions.values()]
}

/**
 * Returns what follows the mention of the agent at the beginning of a sentence: what stands before leads to it. All of the
 * text when nothing is asked there but for help, or when something is asked before and nothing after.
 */
function findAsked(body: string, agentName: string): string {
  const own = [...body.matchAll(mention)].findLast(([name]) => isNameOf(name, agentName))
  const at = own?.index ?? 0
  const before = body.slice(0, at)
  const said = before.trimEnd()
  const isNewSentence = /[.!?:]$/.test(said) || before.slice(said.length).includes('\n')
  if (!isNewSentence) return body
  const lead = before.replace(mention, '')
  const rest = body.slice(at).replace(mention, '')
  const isOpen = toWords(rest).length === 0 || callsForHelp(rest)
  const isAskedBefore = asksSomething(lead) && !asksSomething(rest)
  return isAskedBefore || (isOpen && hasSubject(lead)) ? body : body.slice(at)
}

const asksSomething = (text: string): boolean =>
  splitSentences(text).some((sentence) => isAsking(sentence) && !isCourtesy(sentence))

const isNameOf = ([, ...name]: string, agentName: string): boolean =>
  name.join('').toLowerCase() === agentName

/** Returns what the last answer of the agent was about: its question, and the titles that it links. */
function findSubject(blocks: Block[], agentName: string): string {
  const at = blocks.findLastIndex(({ author, asks }) => !asks && author === agentName)
  if (at < 0) return ''
  const asked = blocks.slice(0, at).findLast(({ author_kind }) => author_kind !== 'agent')
  const titles = blocks[at]?.body.match(/\[[^[\]]+\](?=\(\/p\/)/g) ?? []
  return [asked?.body, ...titles].join('\n')
}

const contextTermsMax = 6
const contextWeight = 0.45

/** Reads a question. Few terms get some of its thread with a low weight; without any, it has those of the last answer. */
export function toQuestion(author: string, text: string, context: string, subject = ''): Question {
  const sentences = text.split('\n').flatMap(splitSentences)
  const asks = sentences.filter(isAsking)
  const named = extractTerms((asks.length > 0 ? asks : sentences).join('\n'))
  const own = named.length > 0 ? named : extractTerms(subject).slice(0, contextTermsMax)
  const specific = named.filter(({ weight }) => weight >= specificWeightMin)
  const isVague = named.length > 0 && specific.length <= 1
  const around = (specific.length === 0 && subject) || context
  const added = extractTerms(isVague ? `${around}\n${text}` : '')
    .filter(({ stem }) => !own.some((term) => term.stem === stem))
    .slice(0, contextTermsMax)
    .map((term) => ({ ...term, weight: term.weight * contextWeight }))
  return { authors: [author], text, asked: text, own, terms: [...own, ...added] }
}
