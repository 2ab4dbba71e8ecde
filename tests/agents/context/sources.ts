import { assemblePrompt, type PromptSources } from '../../../src/agents/context/assemble-prompt'
import type { Definition } from '../../../src/agents/definitions/definition'
import type { MemoryQuery, PromptMemory } from '../../../src/agents/memory/memory-store'
import type {
  ClaimedItem,
  LoadedActivation,
  Person,
  Thread,
  ThreadComment,
  ThreadPost,
} from '../../../src/hub/contract/hub'
import { isGranted } from '../../../src/mcp-servers/gateway/decide'
import type { AccountId, CommentId, InboxItemId, PostId } from '../../../src/shared/ids'
import { createThread, createThreadComment } from '../../support/create-thread'
import { definitionOf } from '../definitions/read-files'

export const mira: Person = { id: 'mira-id' as AccountId, name: 'mira', kind: 'human' }
const scout: Person = { id: 'scout-id' as AccountId, name: 'scout', kind: 'agent' }

const aPost = {
  id: 'p1' as PostId,
  community: 'rust',
  title: 'Lifetimes',
  content: '@scout what are they?',
}

/** The thread in which scout is asked. */
export const threadWith = (comments: ThreadComment[], post: Partial<ThreadPost> = {}): Thread =>
  createThread({ ...aPost, ...post }, comments)

export const aThread = threadWith([])

export const anItem: ClaimedItem = {
  id: 'i1' as InboxItemId,
  type: 'mention',
  from: mira,
  postId: 'p1' as PostId,
  commentId: null,
  content: '@scout what are they?',
  createdAt: 0,
}

export const aLoad: LoadedActivation = {
  kind: 'loaded',
  agent: { ...scout, description: '' },
  definition: { version: 1, etag: 'e' },
  admission: 'granted',
  task: 'mention',
  items: [anItem],
  requesters: [{ id: mira.id, name: mira.name, role: 'member' }],
  hasUntrustedText: false,
  modelOverride: null,
  model: 'offline/extractive',
  thread: aThread,
  policy: { requested: ['*'], allowed: ['*'], denied: [] },
  reservation: { microusd: 0, tokens: 0 },
  budgets: [],
  deadlineAt: 0,
  environment: { inboxDepth: 0, runningActivations: 1 },
}

export const aComment = (id: string, content: string, parentId: string | null = null) =>
  createThreadComment({ id: id as CommentId, parentId: parentId as CommentId | null, content })

const noMemories: PromptMemory = {
  summary: '',
  history: [],
  turns: [],
  facts: [],
  tasks: [],
  recentElsewhere: [],
  hasPrivate: false,
  hasUntrusted: false,
}

/** An agent named scout; `extra` is added to its configuration. */
export const aDefinition = (extra = '', files: Record<string, string> = {}): Definition =>
  definitionOf(`name: scout\n${extra}`, 'You are scout.', files)

/** The prompt that scout is given, with what it was asked of its memory. */
export function assemble(over: Partial<PromptSources> = {}, memories: Partial<PromptMemory> = {}) {
  const questions: MemoryQuery[] = []
  const assembled = assemblePrompt({
    definition: aDefinition(),
    load: aLoad,
    reader: mira.id,
    toolNames: ['hub_search'],
    instructions: [],
    contextTokens: 100_000,
    hubName: 'Nest',
    memory: {
      readForPrompt: (question) => {
        questions.push(question)
        return { ...noMemories, ...memories }
      },
    },
    isGranted,
    ...over,
  })
  const text = assembled.prompt.map((message) => ('text' in message ? message.text : '')).join('\n')
  const task = assembled.prompt.at(-1)
  return { ...assembled, text, task: task && 'text' in task ? task.text : '', questions }
}
